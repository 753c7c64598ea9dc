#pragma once
// What a run hands on while it goes and when it ends.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "eval/metrics/ending.hpp"

namespace rldp::actors {

/// An adapter as it was after a step, for the evaluator.
struct snapshot {
    std::int64_t step = 0;
    at::Tensor adapter;
};

/// Perplexities on held-out units; shown, and steering nothing.
struct evaluations {
    std::optional<double> before, last, best;
};

using eval::ending;

/// How training ended, on the public side.
struct outcome {
    ending how = ending::done;
    std::int64_t steps_done = 0, steps_lost = 0;
    at::Tensor adapter;
    at::Tensor trace;  ///< sum of releases for an audit (privacy::release_trace); undefined where none asked for it
    evaluations perplexity;
};

}  // namespace rldp::actors
