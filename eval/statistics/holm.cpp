#include "eval/statistics/holm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "config/base/require.hpp"

namespace rldp::eval {

std::vector<double> holm(const std::vector<double>& p_values) {
    for (const double p : p_values) require(p >= 0 && p <= 1, fmt::format("a p-value is {}, not in [0, 1]", p));
    std::vector<std::size_t> rising(p_values.size());
    std::iota(rising.begin(), rising.end(), std::size_t{0});
    std::stable_sort(rising.begin(), rising.end(), [&](auto a, auto b) { return p_values[a] < p_values[b]; });
    std::vector<double> adjusted(p_values.size());
    double last = 0;
    for (std::size_t rank = 0; rank < rising.size(); ++rank) {
        // The smallest is held against α/k, the next against α/(k − 1), and so on until one is not rejected (Holm
        // 1979): a later one is never rejected without all before it, hence the maximum.
        const auto left = static_cast<double>(rising.size() - rank);
        last = std::min(1.0, std::max(last, left * p_values[rising[rank]]));
        adjusted[rising[rank]] = last;
    }
    return adjusted;
}

}  // namespace rldp::eval
