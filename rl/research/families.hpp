#pragma once
// Made-up tasks: noisy quadratics, and the families that they come from.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rl/prepared/environment.hpp"
#include "rl/prepared/splitmix.hpp"

namespace rldp::rl {

// Noisy quadratics. They are known to tell how rate, batch and averaging act (Zhang et al. 2019). The loss is the sum
// of ½h·θ² over D numbers in n adapters; a unit's gradient on a number has mean h·θ and variance σ²·h, as the Fisher
// information has it. Plain arithmetic, some 10 ns a number and step.

enum class optimiser { adam, sgd };  ///< adam: models::adamw's, without decay; sgd: for tests that know the answer

struct quadratics final : public task {
    std::int64_t steps = 0, interval = 0;  ///< T, and K, of which it is a multiple
    double batch = 0, epochs = 0;          ///< B, expected units of a step, and B·T/N
    double noise_multiplier = 0;           ///< z: noise of deviation z·C·√n enters each of the n adapters' sums
    std::vector<std::size_t> sizes;        ///< [n] numbers of each adapter, sum D
    std::vector<double> radii;             ///< [n] C. Of clipping, only the mean is simulated: by min(1, C/√E|g|²)
    std::vector<double> weight_norms;      ///< [n] of the weights at the start, across to where θ moves
    std::vector<double> curvatures;        ///< [D] h > 0
    std::vector<double> start;             ///< [D] θ at the start
    double unit_noise = 0;                 ///< σ²
    double rate = 0;                       ///< mean rate that the task was tuned to; sums are divided by B and C
    optimiser how = optimiser::adam;

    std::unique_ptr<episode> begin(const rate_line& line, std::uint64_t seed) const override;
    known_plan plan() const override;
    std::int64_t blocks() const override { return steps / interval; }
};

// Families. What a deployment knows of its run (noise, T, B, adapters) and what it doesn't (spectrum, distance to the
// optimum, how far off its rate is) are drawn from ranges; a family is a corner of them that can be held out whole.

struct range {
    double low, high;
};

inline constexpr std::int64_t steps_per_block = 4;

struct family {
    std::string name;        ///< its traits: "few-flat-cold"
    range adapters;          ///< n
    range decline;           ///< of the curvatures: h ∝ j^−decline
    range coherence;         ///< norm of the mean gradient over a unit's, at the start
    range size = {60, 200};  ///< numbers of an adapter
};

/// All eight: few or many adapters, a flat or a steep spectrum, a cold or a warm start.
std::vector<family> families();

/// The first `count` tasks of a seed, each from one of `from` in turn, each with a stream of its own. All have 40
/// to 400 steps in blocks of four, and log(z·√D/B) of −5 to 2: the plans that are chosen from N 1,000 to a million.
/// Each is first tuned, as a user would on public data, and its rate then put off by a factor of up to `offset`, either
/// way.
std::vector<quadratics> draw_tasks(std::span<const family> from, double offset, std::uint64_t seed, std::size_t count);

}  // namespace rldp::rl
