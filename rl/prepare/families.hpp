#pragma once
// Where made-up tasks come from. What a deployment knows of its run (ε, B, T, adapters) and what it doesn't (spectrum,
// distance to the optimum, how far off its rate is) are drawn from ranges; a family is a corner of them that can be
// held out whole.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rl/prepare/quadratics.hpp"

namespace rldp::rl {

struct range {
    double low, high;
};

struct family {
    std::string name;  ///< its traits: "few-flat-cold"
    range adapters;    ///< n
    range decline;     ///< of the curvatures: h ∝ j^−decline
    range coherence;   ///< norm of the mean gradient over a unit's, at the start
    range epsilon = {0.5, 8};
    range batch = {8, 64};
    range epochs = {0.5, 5};
    range blocks = {16, 32};  ///< of four steps
    range size = {60, 200};   ///< numbers of an adapter
};

/// All eight: few or many adapters, a flat or a steep spectrum, a cold or a warm start.
std::vector<family> families();

/// Tasks `first`, first + 1, … of a seed, each from one of `from` in turn. Each is first tuned, as a user would on
/// public data, and its rate then put off by a factor of up to `offset`, either way.
std::vector<quadratics> draw_tasks(std::span<const family> from, double offset, std::uint64_t seed, std::size_t count);

}  // namespace rldp::rl
