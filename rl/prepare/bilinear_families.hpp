#pragma once
// Where family B's tasks come from: stacks of layers, in the corners that family A has.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rl/prepare/bilinear.hpp"
#include "rl/prepare/families.hpp"

namespace rldp::rl {

struct bilinear_family {
    std::string name;  ///< its traits, as a family's of noisy quadratics
    range adapters;    ///< n
    range decline;     ///< of the inputs' deviations: j^−decline
    range way;         ///< the part of the way from W to the teacher that a warm start has gone; 0 is a cold one
};

/// All eight: few or many adapters, inputs that are flat or steep, a cold or a warm start.
std::vector<bilinear_family> bilinear_families();

/// Tasks `first`, first + 1, … of a seed, each from one of `from` in turn. The mean rate is what a user would begin
/// with, put off by a factor of up to `offset`, either way.
std::vector<bilinear> draw_tasks(std::span<const bilinear_family> from, double offset, std::uint64_t seed,
                                 std::size_t count);

}  // namespace rldp::rl
