#pragma once
// A feedback rule of eleven numbers: what a search finds where a net would need a thousand times the episodes. All
// zeros are the schedule itself.
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "rl/prepare/environment.hpp"

namespace rldp::rl {

/// What it says adds to the last log rates, common and own, of which `forget` leaves a part.
struct rule {
    enum number : std::size_t {
        bias,             ///< a constant of the common log rate; then what it gains per unit of
        time,             ///< t/T − ½
        signal,           ///< the adapters' mean signal
        cosine,           ///< their mean cosine
        along,            ///< their mean cosine along the last block's move
        slope,            ///< the probe's slope
        noise,            ///< log(z·√D/B)
        forget,           ///< exp(−forget²) of the last log rates stays
        own_signal,       ///< an adapter's own log rate per unit of its signal above the mean,
        own_along,        ///< and of its cosine along its last move
        share_of_signal,  ///< its log share per unit of its signal above the mean
        count
    };
    std::array<double, count> numbers = {};

    policy_action operator()(const policy_observation& seen) const;
};

/// A point of a search for the `free` numbers, in their order, as a rule whose others are zero. A step of one in each
/// acts alike: cosines along a noisy block are some hundredths, and are multiplied by ten.
rule rule_at(std::span<const double> point, std::span<const rule::number> free);
/// Its inverse.
std::vector<double> to_point(const rule& how, std::span<const rule::number> free);

/// A point of a search, three numbers, as a schedule: its log rate; its tilt by tanh, so that no straight line is out
/// of reach, and its tail, half at most, by a logistic function. Three zeros are the tuned rate, constant, and the mean
/// of a quarter of the iterates. Quadratics alone would have all iterates averaged: they begin near their optimum, and
/// a language model does not.
schedule schedule_at(std::span<const double> point);
/// Its inverse, but for what only infinite numbers would reach: a search can go on from there.
std::vector<double> to_point(const schedule& fixed);

}  // namespace rldp::rl
