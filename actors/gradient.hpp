#pragma once
// The gradient actor owns a replica of the model: the frozen base shared, the adapter as the trainer sent it.
#include <memory>
#include <optional>

#include "actors/actors.hpp"
#include "actors/run/padding.hpp"
#include "actors/run/session.hpp"

namespace spdlog {
class logger;
}

namespace rldp::actors {

/// How a step's units are put together; public.
struct gradient_settings {
    std::int64_t micro_batch = 0;        ///< records per forward pass
    bool apart = false;                  ///< every unit in passes of its own (computes_apart)
    std::optional<padding> padded = {};  ///< privacy.pad_batches
};
gradient_settings gradient_settings_of(const session& run);

struct gradient_state {
    static constexpr const char* name = "gradient";
    trusted<std::shared_ptr<const secrets>> closed;
    run_model model;
    gradient_settings how;
    int abreast = 1;  ///< chunks computed at a time, each on one thread where there are several
    std::shared_ptr<spdlog::logger> trusted_log;

    /// Calls `on_chunk` with the unit gradients of each chunk of the draw, in order. A unit whose gradient can't be
    /// computed counts as zero (docs/privacy.md §2); what made-up tokens can't do either is the machine's failure.
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
                                       gradient_settings how, loader_actor loader, sanitizer_actor sanitizer,
                                       std::shared_ptr<spdlog::logger> trusted_log);

}  // namespace rldp::actors
