#pragma once
// What a run hands on while it goes and when it ends.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "eval/held_out.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::actors {

/// An adapter as it was after a step, for the evaluator.
struct snapshot {
    std::int64_t step = 0;
    at::Tensor adapter;
};

/// Of eval.target, of the adapter that the run began with and the one that it ended with.
struct predictions {
    std::string column;
    eval::prediction before, after;
};

/// What may be published of held-out units: of the adapter that the run began with, of the last one evaluated, and of
/// the one with the lowest perplexity; shown, and steering nothing.
struct evaluations {
    std::optional<eval::scores> before, last, best;
    std::optional<predictions> predicted = {};  ///< once training is over; exact, as the next
    eval::floors floors = {};

    bool stopped = false;  ///< something of it was given up, and a resume looks again

    /// Takes on what was found after `step`.
    void add(std::int64_t step, const eval::scores& found);
};

using eval::ending;

/// How training ended, on the public side.
struct outcome {
    ending how = ending::done;
    std::int64_t steps_done = 0, steps_lost = 0;
    at::Tensor adapter;
    at::Tensor trace;  ///< sum of releases for an audit (privacy::release_trace); undefined where none asked for it
    evaluations held_out;
    std::string kept = {};  ///< "last" or "average", where public records chose
};

}  // namespace rldp::actors
