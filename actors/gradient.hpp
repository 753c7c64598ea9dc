#pragma once
// The gradient actor owns a replica of the model: the frozen base shared, the adapter as the trainer sent it.
#include <memory>

#include "actors/actors.hpp"
#include "actors/session.hpp"

namespace spdlog {
class logger;
}

namespace rldp::actors {

struct gradient_state {
    static constexpr const char* name = "gradient";
    trusted<std::shared_ptr<const secrets>> closed;
    run_model model;
    std::int64_t micro_batch = 0;
    int abreast = 1;  ///< chunks computed at a time, each on one thread where there are several

    /// Calls `on_chunk` with the unit gradients of each chunk of the draw, in order.
    void compute(const step_task& task, const trusted<draw>& drawn,
                 const std::function<void(trusted<privacy::unit_gradients>)>& on_chunk) const;
};

/// As many chunks of a narrow model as there are threads, one of others, which share out each operator.
int chunks_abreast(const run_model& model);

/// Dropout masks of step `seq` from the stream (run key, dropout, seq, pass·pairs + pair).
models::dropout_factory dropout_of(const privacy::run_key& key, std::uint64_t seq, const models::lora_layout& layout,
                                   at::Device device);

gradient_actor::behavior_type gradient(gradient_actor::stateful_pointer<gradient_state> self,
                                       trusted<std::shared_ptr<const secrets>> closed, run_model model,
                                       std::int64_t micro_batch, loader_actor loader, sanitizer_actor sanitizer,
                                       std::shared_ptr<spdlog::logger> trusted_log);

}  // namespace rldp::actors
