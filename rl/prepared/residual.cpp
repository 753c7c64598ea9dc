#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "models/thread_count.hpp"
#include "rl/prepared/residual.hpp"

namespace rldp::rl {
namespace {

constexpr auto adapter_size = std::int64_t{of_adapter::count}, run_size = std::int64_t{of_run::count};
constexpr std::int64_t own_actions = 1;   // an adapter's
constexpr double first_log_sigma = -1.5;  // explores within a fourth of what may be added

// Rows of a set, each with what all of it share.
at::Tensor beside(const at::Tensor& each, const at::Tensor& shared) {
    return at::cat({each, shared.unsqueeze(1).expand({each.size(0), each.size(1), shared.size(1)})}, 2);
}

at::Tensor mean_over(const at::Tensor& each, const at::Tensor& present) {
    const auto weights = present / present.sum(1, true);
    return (each * weights.unsqueeze(2)).sum(1);
}

at::Tensor sampled(const at::Tensor& mean, const at::Tensor& log_sigma, const at::Generator& generator) {
    return mean + log_sigma.exp() * at::randn(mean.sizes(), generator, mean.options());
}

// Of tanh(x), x normal: log(1 − tanh²x) = 2(log 2 − x − softplus(−2x)) is taken off, as Haarnoja et al. do.
at::Tensor log_squashed(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& log_sigma) {
    const auto deviation = (x - mean) * (-log_sigma).exp();
    return -0.5 * deviation.square() - log_sigma - 0.5 * std::log(2 * std::numbers::pi) -
           2 * (std::numbers::ln2 - x - at::softplus(-2 * x));
}

}  // namespace

adapter_set empty_sets(std::int64_t rows, std::int64_t adapters) {
    return {at::zeros({rows, adapters, adapter_size}), at::zeros({rows, adapters}), at::zeros({rows, run_size})};
}

set_action empty_actions(std::int64_t rows, std::int64_t adapters) {
    return {at::zeros({rows, 1}), at::zeros({rows, adapters, own_actions})};
}

void put(const adapter_set& into, std::int64_t row, const policy_observation& seen) {
    require(std::ssize(seen.adapters) <= into.present.size(1), "sets: more adapters than there is room for");
    const auto adapters = into.adapters[row], present = into.present[row], global = into.global[row];
    adapters.zero_();
    present.zero_();
    auto* numbers = adapters.data_ptr<float>();
    for (const auto& one : seen.adapters)
        for (const double value : one) *numbers++ = static_cast<float>(value);
    present.narrow(0, 0, std::ssize(seen.adapters)).fill_(1);
    std::copy(seen.global.begin(), seen.global.end(), global.data_ptr<float>());
}

void put(const set_action& into, std::int64_t row, const policy_action& chosen) {
    require(std::ssize(chosen.rates) <= into.adapters.size(1), "sets: more adapters than there is room for");
    const auto adapters = into.adapters[row];
    adapters.zero_();
    into.global[row].fill_(chosen.rate);
    auto* numbers = adapters.data_ptr<float>();
    for (const double rate : chosen.rates) *numbers++ = static_cast<float>(rate);
}

policy_action action_at(const set_action& from, std::int64_t row, std::size_t adapters) {
    auto out = neutral(adapters);
    out.rate = from.global[row].item<double>();
    const auto own = from.adapters[row].contiguous();
    std::copy_n(own.data_ptr<float>(), adapters, out.rates.begin());
    return out;
}

set_action set_gaussian::sample(const at::Generator& generator) const {
    return {sampled(mean.global, log_sigma.global, generator), sampled(mean.adapters, log_sigma.adapters, generator)};
}

at::Tensor set_gaussian::log_density(const set_action& of, const at::Tensor& present) const {
    const auto each = log_squashed(of.adapters, mean.adapters, log_sigma.adapters);
    return log_squashed(of.global, mean.global, log_sigma.global).sum(1) + mean_over(each, present).sum(1);
}

at::Tensor set_gaussian::joint_log_density(const set_action& of, const at::Tensor& present) const {
    const auto each = log_squashed(of.adapters, mean.adapters, log_sigma.adapters).sum(2);
    return log_squashed(of.global, mean.global, log_sigma.global).sum(1) + (each * present).sum(1);
}

set_networks::set_networks(std::int64_t hidden)
    : actor_{{adapter_size + run_size, hidden},  // encoder of an adapter beside the run
             {hidden, hidden},
             {hidden + run_size, hidden},  // of the mean beside the run
             {2 * hidden, hidden},         // of an adapter beside all
             {hidden, 2},                  // heads: means and log deviations
             {hidden, 2 * own_actions}},
      critic_{{adapter_size + own_actions + run_size + 1, hidden},
              {hidden, hidden},
              {hidden + run_size + 1, hidden},
              {hidden, 1}} {}

std::int64_t set_networks::compute_size(const layers& all) {
    std::int64_t out = 0;
    for (const auto& one : all) out += one.in * one.out + one.out;
    return out;
}

std::int64_t set_networks::actor_size() const {
    return compute_size(actor_);
}

// Weights [out, in] and bias [out] of each layer.
std::vector<at::Tensor> set_networks::unpack(const at::Tensor& flat, const layers& all) {
    std::vector<at::Tensor> out;
    std::int64_t offset = 0;
    for (const auto& one : all) {
        out.push_back(flat.narrow(0, offset, one.in * one.out).view({one.out, one.in}));
        offset += one.in * one.out;
        out.push_back(flat.narrow(0, offset, one.out));
        offset += one.out;
    }
    return out;
}

// Uniform in ±1/√in, as PyTorch starts a Linear; the last `zeroed` layers are zero.
at::Tensor set_networks::initial(const layers& all, std::size_t zeroed, const at::Generator& generator) {
    std::vector<at::Tensor> parts;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const double bound = i + zeroed < all.size() ? 1 / std::sqrt(static_cast<double>(all[i].in)) : 0;
        parts.push_back(
            at::empty({all[i].in * all[i].out + all[i].out}, at::kFloat).uniform_(-bound, bound, generator));
    }
    return at::cat(parts);
}

at::Tensor set_networks::initial_actor(const at::Generator& generator) const {
    return initial(actor_, 2, generator);
}
at::Tensor set_networks::initial_critics(const at::Generator& generator) const {
    return at::cat({initial(critic_, 0, generator), initial(critic_, 0, generator)});
}

set_gaussian set_networks::policy(const at::Tensor& actor, const adapter_set& seen) const {
    const auto p = unpack(actor, actor_);
    const auto apply_layer = [&](std::size_t i, const at::Tensor& x) { return at::linear(x, p[2 * i], p[2 * i + 1]); };
    const auto each = at::gelu(apply_layer(1, at::gelu(apply_layer(0, beside(seen.adapters, seen.global)))));
    const auto all = at::gelu(apply_layer(2, at::cat({mean_over(each, seen.present), seen.global}, 1)));
    const auto own = at::gelu(apply_layer(3, beside(each, all)));
    const auto global = apply_layer(4, all).chunk(2, 1), adapters = apply_layer(5, own).chunk(2, 2);
    const auto deviation = [](const at::Tensor& raw) { return (raw + first_log_sigma).clamp(-5, 0); };
    return {{global[0], adapters[0]}, {deviation(global[1]), deviation(adapters[1])}};
}

std::array<at::Tensor, 2> set_networks::values(const at::Tensor& critics, const adapter_set& seen,
                                               const set_action& of) const {
    const auto run = at::cat({seen.global, at::tanh(of.global)}, 1);
    const auto each = beside(at::cat({seen.adapters, at::tanh(of.adapters)}, 2), run);
    const auto critic = [&](std::int64_t which) {
        const auto p = unpack(critics.narrow(0, which * compute_size(critic_), compute_size(critic_)), critic_);
        const auto encoded = at::relu(at::linear(at::relu(at::linear(each, p[0], p[1])), p[2], p[3]));
        const auto pooled = at::cat({mean_over(encoded, seen.present), run}, 1);
        return at::linear(at::relu(at::linear(pooled, p[4], p[5])), p[6], p[7]).squeeze(1);
    };
    return {critic(0), critic(1)};
}

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
    for (std::size_t i = 0; i < base.rates.size(); ++i)
        base.rates[i] += part * most_added_rate * std::tanh(raw.rates[i]);
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
    for (std::size_t i = 0; i < out.rates.size(); ++i)
        out.rates[i] = sampled(out.rates[i], said.log_sigma.rates[i], random);
    return out;
}

}  // namespace rldp::rl
