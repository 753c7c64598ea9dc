#include "rl/prepare/residual.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "config/base/require.hpp"
#include "models/thread_count.hpp"

namespace rldp::rl {
namespace {

constexpr double farthest = 5;  // deviations
constexpr double ridge = 1e-3;  // of a variance of 1: features that move together leave the covariance invertible

// Welford's (1962): numbers that are all the same have a deviation of exactly 0.
template <std::size_t N>
struct spread {
    std::array<double, N> mean = {}, squares = {};  // squares: of deviations from the mean
    double count = 0;

    void add(const std::array<double, N>& values) {
        count += 1;
        for (std::size_t k = 0; k < N; ++k) {
            const double before = values[k] - mean[k];
            mean[k] += before / count;
            squares[k] += before * (values[k] - mean[k]);
        }
    }
    std::array<double, N> deviation() const {
        auto out = squares;
        for (double& value : out) value = std::sqrt(value / count);
        return out;
    }
};

template <std::size_t N>
void normalise(std::array<double, N>& values, const std::array<double, N>& mean,
               const std::array<double, N>& deviation) {
    for (std::size_t k = 0; k < N; ++k)
        values[k] = deviation[k] > 1e-9 ? std::clamp((values[k] - mean[k]) / deviation[k], -farthest, farthest) : 0;
}

std::array<double, residual_guard::size> pooled(const policy_observation& seen) {
    std::array<double, residual_guard::size> out = {};
    for (const auto& one : seen.adapters)
        for (std::size_t k = 0; k < residual_guard::of_adapters; ++k)
            out[k] += one[k] / static_cast<double>(seen.adapters.size());
    std::copy_n(seen.global.begin(), residual_guard::of_runs, out.begin() + residual_guard::of_adapters);
    return out;
}

double sampled(double mean, double log_sigma, splitmix& random) {
    return mean + std::exp(log_sigma) * random.normal();
}

}  // namespace

policy_action with_residual(policy_action base, const policy_action& raw, double part) {
    require(base.rates.size() == raw.rates.size(), "a residual for another number of adapters");
    base.rate += part * most_added_rate * std::tanh(raw.rate);
    for (std::size_t i = 0; i < base.rates.size(); ++i) {
        base.rates[i] += part * most_added_rate * std::tanh(raw.rates[i]);
        base.shares[i] += part * most_added_share * std::tanh(raw.shares[i]);
    }
    return within_limits(std::move(base));
}

frozen_normaliser frozen_normaliser::of(std::span<const policy_observation> seen) {
    require(!seen.empty(), "a normaliser needs sights");
    spread<of_adapter::count> adapters;
    spread<of_run::count> runs;
    for (const auto& one : seen) {
        runs.add(one.global);
        for (const auto& adapter : one.adapters) adapters.add(adapter);
    }
    return {adapters.mean, adapters.deviation(), runs.mean, runs.deviation()};
}

policy_observation frozen_normaliser::operator()(const policy_observation& seen) const {
    policy_observation out = seen;
    for (auto& one : out.adapters) normalise(one, adapter_mean, adapter_deviation);
    normalise(out.global, global_mean, global_deviation);
    return out;
}

residual_guard residual_guard::of(std::span<const policy_observation> normalised) {
    require(!normalised.empty(), "a guard needs sights");
    const auto n = static_cast<double>(normalised.size());
    residual_guard out;
    for (const auto& one : normalised) {
        const auto x = pooled(one);
        for (std::size_t k = 0; k < size; ++k) out.mean[k] += x[k] / n;
    }
    std::array<double, size* size> covariance = {};
    for (const auto& one : normalised) {
        const auto x = pooled(one);
        for (std::size_t i = 0; i < size; ++i)
            for (std::size_t j = 0; j < size; ++j)
                covariance[i * size + j] += (x[i] - out.mean[i]) * (x[j] - out.mean[j]) / n;
    }
    for (std::size_t i = 0; i < size; ++i) covariance[i * size + i] += ridge;
    constexpr auto rows = static_cast<std::int64_t>(size);
    const auto inverse = at::inverse(at::from_blob(covariance.data(), {rows, rows}, at::kDouble)).contiguous();
    std::copy_n(inverse.data_ptr<double>(), size * size, out.precision.begin());
    std::vector<double> distances;
    for (const auto& one : normalised) distances.push_back(out.squared_distance(one));
    const auto rank = distances.begin() + static_cast<std::ptrdiff_t>(0.99 * (n - 1));
    std::nth_element(distances.begin(), rank, distances.end());
    out.reach = std::max(*rank, 1e-9);
    return out;
}

double residual_guard::squared_distance(const policy_observation& normalised) const {
    auto x = pooled(normalised);
    for (std::size_t k = 0; k < size; ++k) x[k] -= mean[k];
    double out = 0;
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j) out += x[i] * precision[i * size + j] * x[j];
    return out;
}

double residual_guard::part(const policy_observation& normalised) const {
    const double far = squared_distance(normalised);
    return far <= reach ? 1 : reach / far;
}

raw_policy compute_raw_policy(const set_networks& nets, const at::Tensor& actor, const policy_observation& normalised) {
    const at::NoGradGuard no_gradient;
    const models::one_thread same_bits_everywhere;
    const std::size_t adapters = normalised.adapters.size();
    const auto one = empty_sets(1, std::ssize(normalised.adapters));
    put(one, 0, normalised);
    const auto said = nets.policy(actor, one);
    return {action_at(said.mean, 0, adapters), action_at(said.log_sigma, 0, adapters)};
}

policy_action sampled(const raw_policy& said, splitmix& random) {
    policy_action out = said.mean;
    out.rate = sampled(out.rate, said.log_sigma.rate, random);
    for (std::size_t i = 0; i < out.rates.size(); ++i) {
        out.rates[i] = sampled(out.rates[i], said.log_sigma.rates[i], random);
        out.shares[i] = sampled(out.shares[i], said.log_sigma.shares[i], random);
    }
    return out;
}

}  // namespace rldp::rl
