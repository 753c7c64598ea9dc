#include "rl/prepare/rule.hpp"

#include <algorithm>
#include <cmath>

#include "config/base/require.hpp"

namespace rldp::rl {
namespace {

double logistic(double x) {
    return 1 / (1 + std::exp(-x));
}

double mean_of(const sight& seen, of_adapter::feature feature) {
    double sum = 0;
    for (const auto& one : seen.adapters) sum += one[feature];
    return sum / static_cast<double>(seen.adapters.size());
}

}  // namespace

move rule::operator()(const sight& seen) const {
    const auto& run = seen.global;
    const double mean_signal = mean_of(seen, of_adapter::signal), mean_cosine = mean_of(seen, of_adapter::cosine);
    const double kept = std::tanh(numbers[memory]);
    move out = neutral(seen.adapters.size());
    out.rate = kept * run[of_run::rate] + numbers[bias] + numbers[time] * (run[of_run::time] - 0.5) +
               numbers[signal] * mean_signal + numbers[cosine] * mean_cosine + numbers[slope] * run[of_run::slope] +
               numbers[noise] * run[of_run::noise];
    for (std::size_t i = 0; i < seen.adapters.size(); ++i) {
        const auto& own = seen.adapters[i];
        const double more_signal = own[of_adapter::signal] - mean_signal;
        out.rates[i] = kept * own[of_adapter::rate] + numbers[own_signal] * more_signal +
                       numbers[own_cosine] * (own[of_adapter::cosine] - mean_cosine);
        out.shares[i] = numbers[share_of_signal] * more_signal;
    }
    return within_limits(std::move(out));
}

schedule schedule_at(std::span<const double> point) {
    require(point.size() == 3, "a schedule is three numbers");
    return {.log_rate = point[0], .tilt = std::tanh(point[1]), .tail = std::max(0.01, 0.5 * logistic(point[2]))};
}

std::vector<double> point_of(const schedule& fixed) {
    const double tilt = std::clamp(fixed.tilt, -0.99, 0.99), part = std::clamp(2 * fixed.tail, 0.02, 0.98);
    return {fixed.log_rate, std::atanh(tilt), std::log(part / (1 - part))};
}

}  // namespace rldp::rl
