#pragma once
// The learning rate of each step, known before the run begins.
#include <cstdint>

#include "base/kinds.hpp"

namespace rldp::rl {

/// A linear warm-up to `peak`, then one of
///   constant  `peak` to the end
///   linear    in a straight line to `last`
///   cosine    along half a cosine to `last`
///   wsd       `peak`, and over the last `decay` steps in a straight line to `last` (warm-up, stable, decay: Hu et al.
///   2024)
/// `last` is reached behind the last step, as in the schedules of transformers: with `last` 0, no step that was paid
/// for is without effect.
struct rate_schedule {
    rate_shape shape = rate_shape::constant;
    double peak = 0, last = 0;
    std::int64_t steps = 0, warmup = 0;
    std::int64_t decay = 0;  ///< steps, of wsd

    /// Of step 1 to `steps`.
    double rate(std::int64_t step) const;
};

}  // namespace rldp::rl
