#pragma once
// A step's unit gradients, chunk by chunk: planning and computing, without actors. It is given the units in clear, so
// only the trusted side calls it.
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "models/unit_gradients.hpp"
#include "models/whole/factored_gradients.hpp"
#include "privacy/mechanism/step_order.hpp"
#include "run/inputs.hpp"
#include "run/plan.hpp"
#include "run/session.hpp"

namespace rldp::actors {

// Gradient parts. Factored unit gradients of whole tensors, as the clipper asks for them.

std::shared_ptr<const privacy::gradient_parts> as_parts(models::factored_gradients gradients);

/// The units of several, one after the other, of the same tensors.
std::shared_ptr<const privacy::gradient_parts> joined(
    std::vector<std::shared_ptr<const privacy::gradient_parts>> several);

// Step gradients. How a step's units are put together in chunks, and computed.

/// How a step's units are put together; public.
struct gradient_settings {
    std::int64_t micro_batch = 0;                             ///< records per forward pass
    bool apart = false;                                       ///< every unit in passes of its own (computes_apart)
    int abreast = 1, threads = 1;                             ///< chunks computed at a time, and threads of each
    std::optional<padding> padded = {};                       ///< privacy.pad_batches
    double value_weight = 1;                                  ///< of tokens that carry a value
    bool answers_only = false;                                ///< see models::chunk_rule
    models::activations between = models::activations::kept;  ///< model.checkpoint_activations
    std::size_t rank = 0, ranks = 1;  ///< whose share of the units is computed here (privacy::unit_shares)
    std::stop_token stop = {};        ///< of long steps, which are given up between chunks once a stop is asked for
};

/// Whether an expected step takes more than some seconds, by public numbers alone, for it is public which steps were
/// given up.
bool is_long_step(const run_plan& plan, std::int64_t parameters);

models::activations choose_activations(const config::reading_spec& spec);

/// As choose_lanes().
gradient_settings make_gradient_settings(const config::run_spec& spec, const run_model& model);
/// And as the plan pads, on one of so many ranks.
gradient_settings make_gradient_settings(const config::run_spec& spec, const run_plan& plan, const run_model& model,
                                         std::size_t ranks = 1);
gradient_settings make_gradient_settings(const session& run, std::size_t ranks = 1);

/// A record of so many tokens that nobody has. All of them are marked, for where only answers are learned (data.chat)
/// nothing would be computed otherwise.
models::sequence make_up_record(std::int64_t length, std::int64_t first, const run_model& model);

/// SHA-256 of the gradients and losses of a few made-up units of several lengths: two processes that compute units to
/// the same bits have the same.
std::string digest_of_arithmetic(const config::run_spec& spec, const run_model& model, std::int64_t max_tokens);

/// Dropout masks of step `seq`, made on the device: those of a record by (run key, dropout, seq), its tokens and the
/// pair, whoever else was drawn.
models::dropout_factory make_dropout(const privacy::run_key& key, std::uint64_t seq, const models::lora_layout& layout,
                                     at::Device device);

using on_chunk = std::function<void(privacy::unit_gradients)>;
using on_failed_unit = std::function<void(const std::exception&)>;

/// Calls `take` with the unit gradients of each chunk of `units` at `adapter` ([D] float32 on the device), and their
/// losses there and at the probes (likewise), in order. Gradients are on the device
/// and may still be under way there, losses on the CPU: for them each chunk is waited for, which keeps what the device
/// has to do, and so memory, at one chunk. A unit whose gradient can't
/// be computed counts as zero (docs/privacy.md §2) and is told to `failed`, from any thread. Errors: what made-up
/// tokens provoke too, for that is the machine's failure, and exhausted memory; interrupted where the step is given up.
void step_gradients(const run_model& model, const gradient_settings& how, const at::Tensor& adapter,
                    const std::vector<at::Tensor>& probes, std::vector<models::unit_records> units,
                    const models::dropout_factory& dropout, const on_chunk& take, const on_failed_unit& failed);

}  // namespace rldp::actors
