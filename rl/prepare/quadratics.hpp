#pragma once
// Family A: noisy quadratics, which are known to tell how rate, batch and averaging act (Zhang et al. 2019). The loss
// is the sum of ½h·θ² over D numbers in n adapters; a unit's gradient on a number has mean h·θ and variance σ²·h, as
// the Fisher information has it. Plain arithmetic, some 10 ns a number and step.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rl/prepare/environment.hpp"

namespace rldp::rl {

enum class optimiser { adam, sgd };  ///< adam: models::adamw's, without decay; sgd: for tests that know the answer

struct quadratics final : public task {
    std::vector<std::size_t> sizes;     ///< [n] numbers of each adapter, sum D
    std::vector<double> radii;          ///< [n] C. Of clipping, only the mean is simulated: by min(1, C/√E|g|²)
    std::vector<double> weight_norms;   ///< [n] of the weights at the start, across to where θ moves
    std::vector<double> curvatures;     ///< [D] h > 0
    std::vector<double> start;          ///< [D] θ at the start
    std::vector<double> public_optima;  ///< [D] where the loss on public records is least
    double public_floor = 1;            ///< that loss there, nats
    bool probed = true;                 ///< whether there are public records
    double unit_noise = 0;              ///< σ²
    double noise_multiplier = 0;        ///< z: noise of deviation z·C/w enters an adapter's sum, w² its share
    double batch = 0;                   ///< B, expected units of a step
    double epochs = 0;                  ///< B·T/N
    std::int64_t steps = 0;             ///< T, a multiple of the interval and more
    std::int64_t interval = 0;          ///< K
    double rate = 0;                    ///< mean rate that the task was tuned to; sums are divided by B and C
    optimiser how = optimiser::adam;

    std::unique_ptr<episode> begin(const schedule& fixed, std::uint64_t seed) const override;
    std::int64_t blocks() const override { return steps / interval; }
};

}  // namespace rldp::rl
