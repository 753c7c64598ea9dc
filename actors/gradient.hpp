#pragma once
// The gradient actor owns a replica of the model: the frozen base shared, the adapter as the trainer sent it.
#include <functional>
#include <memory>

#include "actors/actors.hpp"
#include "run/session.hpp"
#include "run/step_gradients.hpp"

namespace spdlog {
class logger;
}

namespace rldp::actors {

struct gradient_state {
    static constexpr const char* name = "gradient";
    trusted<std::shared_ptr<const secrets>> closed;
    run_model model;
    gradient_settings how;
    std::shared_ptr<spdlog::logger> trusted_log;

    /// Calls `take` with the unit gradients of each chunk of the draw, in order: gradient canaries first, then what
    /// step_gradients makes of the others.
    void compute(const step_task& task, const trusted<draw>& drawn,
                 const std::function<void(trusted<privacy::unit_gradients>)>& take) const;
};

gradient_actor::behavior_type make_gradient(gradient_actor::stateful_pointer<gradient_state> self,
                                            trusted<std::shared_ptr<const secrets>> closed, run_model model,
                                            gradient_settings how, loader_actor loader, sanitizer_actor sanitizer,
                                            std::shared_ptr<spdlog::logger> trusted_log);

}  // namespace rldp::actors
