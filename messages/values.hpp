#pragma once
// The values that local messages carry; plain structs without CAF.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/corpus.hpp"
#include "eval/metrics.hpp"
#include "privacy/release.hpp"
#include "privacy/sanitizer.hpp"
#include "privacy/statistics.hpp"
#include "rl/controller.hpp"

namespace rldp::messages {

/// The units drawn for one step: tokens of training records, trusted wherever it travels.
struct draw {
    std::uint64_t seq = 0;
    std::vector<data::token_unit> units;
};

/// What the trainer asks of the gradient actor: public numbers and the adapter to compute with, float32 [D], frozen.
struct step_task {
    privacy::step_order order;
    at::Tensor adapter;
};

/// The accountant's answer once a step is charged.
struct charged {
    privacy::charge charge;
    double progress_epsilon = 0;  ///< as last refreshed; no guarantee
};

/// An adapter as it was after a step, for the evaluator.
struct snapshot {
    std::int64_t step = 0;
    at::Tensor adapter;
};

/// Perplexities on held-out units; shown, and steering nothing.
struct evaluations {
    std::optional<double> before, last, best;
};

/// What the hub needs to know of a run before its first step.
struct run_header {
    std::string metrics_path;
    std::vector<eval::metrics_line> known;  ///< lines that a resumed run already has
    std::int64_t steps = 0;
    double epsilon = 0, guaranteed_epsilon = 0;
};

enum class ending { done, budget_exhausted, interrupted };

/// How training ended, on the public side.
struct outcome {
    ending how = ending::done;
    std::int64_t steps_done = 0, steps_lost = 0;
    at::Tensor adapter;
    at::Tensor trace;  ///< sum of releases for an audit (privacy::release_trace); undefined where none asked for it
    evaluations perplexity;
};

}  // namespace rldp::messages
