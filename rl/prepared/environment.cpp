#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "rl/prepared/environment.hpp"

namespace rldp::rl {

policy_action neutral(std::size_t adapters) {
    return {.rates = std::vector<double>(adapters), .shares = std::vector<double>(adapters)};
}

policy_action within_limits(policy_action wish) {
    const auto limit = [](double& value, double most) { value = std::clamp(value, -most, most); };
    limit(wish.rate, rate_limit);
    for (double& rate : wish.rates) limit(rate, own_rate_limit);
    for (double& share : wish.shares) limit(share, share_limit);
    return wish;
}

void check_action(const policy_action& chosen, std::size_t adapters) {
    require(chosen.rates.size() == adapters && chosen.shares.size() == adapters,
            "a task: a move for another number of adapters");
    const auto limited = within_limits(chosen);
    require(limited.rate == chosen.rate && limited.rates == chosen.rates && limited.shares == chosen.shares,
            "a task: a move beyond its limits");
}

std::vector<double> compute_shares(const policy_action& chosen) {
    auto out = chosen.shares;
    for (double& share : out) share = std::exp(share);
    const double sum = std::accumulate(out.begin(), out.end(), 0.0);
    for (double& share : out) share /= sum;
    return out;
}

rate_schedule make_rate_schedule(const schedule& fixed, double mean_rate, std::int64_t steps) {
    const double mean = mean_rate * std::exp(fixed.log_rate);
    return {.shape = rate_shape::linear,
            .peak = mean * (1 - fixed.tilt),
            .last = mean * (1 + fixed.tilt),
            .steps = steps,
            .warmup = steps / 20};
}

namespace {

double find_scale(rule::number which) {
    return which == rule::along || which == rule::own_along ? 10 : 1;
}

double logistic(double x) {
    return 1 / (1 + std::exp(-x));
}

double compute_mean(const policy_observation& seen, of_adapter::feature feature) {
    double sum = 0;
    for (const auto& one : seen.adapters) sum += one[feature];
    return sum / static_cast<double>(seen.adapters.size());
}

}  // namespace

policy_action rule::operator()(const policy_observation& seen) const {
    const auto& run = seen.global;
    const double mean_signal = compute_mean(seen, of_adapter::signal),
                 mean_along = compute_mean(seen, of_adapter::along);
    const double kept = std::exp(-numbers[forget] * numbers[forget]);
    policy_action out = neutral(seen.adapters.size());
    out.rate = kept * run[of_run::rate] + numbers[bias] + numbers[time] * (run[of_run::time] - 0.5) +
               numbers[signal] * mean_signal + numbers[cosine] * compute_mean(seen, of_adapter::cosine) +
               numbers[along] * mean_along + numbers[slope] * run[of_run::slope] + numbers[noise] * run[of_run::noise];
    for (std::size_t i = 0; i < seen.adapters.size(); ++i) {
        const auto& own = seen.adapters[i];
        const double more_signal = own[of_adapter::signal] - mean_signal;
        out.rates[i] = kept * own[of_adapter::rate] + numbers[own_signal] * more_signal +
                       numbers[own_along] * (own[of_adapter::along] - mean_along);
        out.shares[i] = numbers[share_of_signal] * more_signal;
    }
    return within_limits(std::move(out));
}

rule rule_at(std::span<const double> point, std::span<const rule::number> free) {
    require(point.size() == free.size(), "a rule's point has a number for each that is free");
    rule out;
    for (std::size_t k = 0; k < free.size(); ++k) out.numbers[free[k]] = find_scale(free[k]) * point[k];
    return out;
}

std::vector<double> to_point(const rule& how, std::span<const rule::number> free) {
    std::vector<double> out;
    for (const auto number : free) out.push_back(how.numbers[number] / find_scale(number));
    return out;
}

schedule schedule_at(std::span<const double> point) {
    require(point.size() == 3, "a schedule is three numbers");
    return {.log_rate = point[0], .tilt = std::tanh(point[1]), .tail = std::max(0.01, 0.5 * logistic(point[2]))};
}

std::vector<double> to_point(const schedule& fixed) {
    const double tilt = std::clamp(fixed.tilt, -0.99, 0.99), part = std::clamp(2 * fixed.tail, 0.02, 0.98);
    return {fixed.log_rate, std::atanh(tilt), std::log(part / (1 - part))};
}

policy_action open_loop_schedule::operator()(const policy_observation& seen) const {
    const auto pieces = static_cast<double>(log_rates.size() - 1);
    const double place = std::clamp(seen.global[of_run::time], 0.0, 1.0) * pieces;
    const double begin = std::min(std::floor(place), pieces - 1);
    const auto k = static_cast<std::size_t>(begin);
    policy_action out = neutral(seen.adapters.size());
    out.rate = std::lerp(log_rates[k], log_rates[k + 1], place - begin);
    return within_limits(std::move(out));
}

open_loop_schedule open_loop_schedule_at(std::span<const double> point) {
    open_loop_schedule out;
    require(point.size() == out.log_rates.size(), "a timetable is eleven numbers");
    std::copy(point.begin(), point.end(), out.log_rates.begin());
    return out;
}

}  // namespace rldp::rl
