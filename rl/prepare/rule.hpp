#pragma once
// A feedback rule of ten numbers: what a search finds where a net would need a thousand times the episodes. All zeros
// are the schedule itself.
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "rl/prepare/environment.hpp"

namespace rldp::rl {

struct rule {
    enum number : std::size_t {
        bias,             ///< a constant of the common log rate; then what it gains per unit of
        time,             ///< t/T − ½
        signal,           ///< the adapters' mean signal
        cosine,           ///< their mean cosine
        slope,            ///< the probe's slope
        noise,            ///< log(z·√D/B)
        memory,           ///< how much of the last log rates stays, common and own: tanh of it
        own_signal,       ///< an adapter's own log rate per unit of its signal above the mean,
        own_cosine,       ///< and of its cosine
        share_of_signal,  ///< its log share per unit of its signal above the mean
        count
    };
    std::array<double, count> numbers = {};

    move operator()(const sight& seen) const;
};

/// A point of a search, three numbers, as a schedule: its log rate; its tilt by tanh, so that no straight line is out
/// of reach, and its tail, half at most, by a logistic function. Three zeros are the tuned rate, constant, and the mean
/// of a quarter of the iterates. Quadratics alone would have all iterates averaged: they begin near their optimum, and
/// a language model does not.
schedule schedule_at(std::span<const double> point);
/// Its inverse, but for what only infinite numbers would reach: a search can go on from there.
std::vector<double> point_of(const schedule& fixed);

}  // namespace rldp::rl
