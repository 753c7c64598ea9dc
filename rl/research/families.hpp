#pragma once
// Family A of made-up tasks, noisy quadratics, and where the tasks of all families come from.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "rl/prepared/environment.hpp"
#include "rl/prepared/splitmix.hpp"

namespace rldp::rl {

// Noisy quadratics. They are known to tell how rate, batch and averaging act (Zhang et al. 2019). The loss is the sum
// of ½h·θ² over D numbers in n adapters; a unit's gradient on a number has mean h·θ and variance σ²·h, as the Fisher
// information has it. Plain arithmetic, some 10 ns a number and step.

/// What a deployment knows of its run.
struct task_plan : public task {
    std::int64_t steps = 0, interval = 0;  ///< T, and K, of which it is a multiple
    double batch = 0, epochs = 0;          ///< B, expected units of a step, and B·T/N
    double noise_multiplier = 0;           ///< z: noise of deviation z·C/w enters an adapter's sum, w² its share

    std::int64_t blocks() const override { return steps / interval; }
};

enum class optimiser { adam, sgd };  ///< adam: models::adamw's, without decay; sgd: for tests that know the answer

struct quadratics final : public task_plan {
    std::vector<std::size_t> sizes;     ///< [n] numbers of each adapter, sum D
    std::vector<double> radii;          ///< [n] C. Of clipping, only the mean is simulated: by min(1, C/√E|g|²)
    std::vector<double> weight_norms;   ///< [n] of the weights at the start, across to where θ moves
    std::vector<double> curvatures;     ///< [D] h > 0
    std::vector<double> start;          ///< [D] θ at the start
    std::vector<double> public_optima;  ///< [D] where the loss on public records is least
    double public_floor = 1;            ///< that loss there, nats
    bool probed = true;                 ///< whether there are public records
    double unit_noise = 0;              ///< σ²
    double rate = 0;                    ///< mean rate that the task was tuned to; sums are divided by B and C
    optimiser how = optimiser::adam;

    std::unique_ptr<episode> begin(const schedule& fixed, std::uint64_t seed) const override;
};

// Families. Where made-up tasks come from. What a deployment knows of its run (ε, B, T, adapters) and what it doesn't
// (spectrum, distance to the optimum, how far off its rate is) are drawn from ranges; a family is a corner of them that
// can be held out whole.

struct range {
    double low, high;
};

inline constexpr std::int64_t steps_per_block = 4;

/// From the same ranges for every family: blocks of four steps, 16 to 32; B of 8 to 64, a twentieth of an epoch to
/// five, ε of 0.5 to 8 at δ = 1e-5.
void draw_plan(task_plan& out, splitmix& random);

/// Evenly in the logarithm.
double drawn(const range& from, splitmix& random);
std::int64_t draw_integer(const range& from, splitmix& random);

/// One side of a corner.
struct trait {
    const char* name;
    range values;
};
/// All eight: few or many adapters, one of two spectra, one of two starts. A family begins with those.
template <class Family>
std::vector<Family> corners(const std::array<trait, 2>& spectra, const std::array<trait, 2>& starts) {
    std::vector<Family> out;
    for (const auto& number : {trait{"few", {2, 4}}, trait{"many", {6, 10}}})
        for (const auto& spectrum : spectra)
            for (const auto& start : starts)
                out.push_back({std::string(number.name) + "-" + spectrum.name + "-" + start.name, number.values,
                               spectrum.values, start.values});
    return out;
}

/// `count` tasks, `draw`n from each family in turn, each with a stream of its own.
template <class Family, class Draw>
auto drawn_in_turn(std::span<const Family> from, double offset, std::uint64_t seed, std::size_t count,
                   const Draw& draw) {
    require(!from.empty() && offset >= 1, "tasks come from a family, their rates off by a factor of at least 1");
    splitmix first(seed, 0);
    std::vector<decltype(draw(from.front(), offset, first))> out;
    for (std::size_t i = 0; i < count; ++i) {
        splitmix random(seed, i);
        out.push_back(draw(from[i % from.size()], offset, random));
    }
    return out;
}

struct family {
    std::string name;        ///< its traits: "few-flat-cold"
    range adapters;          ///< n
    range decline;           ///< of the curvatures: h ∝ j^−decline
    range coherence;         ///< norm of the mean gradient over a unit's, at the start
    range size = {60, 200};  ///< numbers of an adapter
};

/// All eight: few or many adapters, a flat or a steep spectrum, a cold or a warm start.
std::vector<family> families();

/// Tasks `first`, first + 1, … of a seed, each from one of `from` in turn. Each is first tuned, as a user would on
/// public data, and its rate then put off by a factor of up to `offset`, either way.
std::vector<quadratics> draw_tasks(std::span<const family> from, double offset, std::uint64_t seed, std::size_t count);

}  // namespace rldp::rl
