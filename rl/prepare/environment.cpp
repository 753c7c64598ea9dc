#include "rl/prepare/environment.hpp"

#include <algorithm>

namespace rldp::rl {

move neutral(std::size_t adapters) {
    return {.rates = std::vector<double>(adapters), .shares = std::vector<double>(adapters)};
}

move within_limits(move wish) {
    const auto limit = [](double& value, double most) { value = std::clamp(value, -most, most); };
    limit(wish.rate, rate_limit);
    for (double& rate : wish.rates) limit(rate, rate_limit);
    for (double& share : wish.shares) limit(share, share_limit);
    return wish;
}

}  // namespace rldp::rl
