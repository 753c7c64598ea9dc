#include "rl/prepare/environment.hpp"

#include <algorithm>
#include <numeric>

#include "config/base/require.hpp"

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

}  // namespace rldp::rl
