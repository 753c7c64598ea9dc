#include "data/units/sampler.hpp"

#include "config/base/require.hpp"
#include "data/units/threshold.hpp"

namespace rldp::data {

std::vector<std::int64_t> poisson_draw(std::int64_t n, double rate, const std::function<std::uint64_t()>& uniform64) {
    require(n >= 0, "Poisson draw: a negative number of units");
    require(rate >= 0 && rate <= 1, "Poisson draw: the sample rate lies outside [0, 1]");
    std::vector<std::int64_t> drawn;
    for (std::int64_t i = 0; i < n; ++i)
        if (happens(uniform64(), rate)) drawn.push_back(i);
    return drawn;
}

}  // namespace rldp::data
