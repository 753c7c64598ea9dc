#include "data/units/sampler.hpp"

#include <fmt/format.h>

#include <cmath>

#include "config/base/error.hpp"
#include "data/units/threshold.hpp"

namespace rldp::data {

std::vector<std::int64_t> poisson_draw(std::int64_t n, double rate, const std::function<std::uint64_t()>& uniform64) {
    if (n < 0) refuse(fmt::format("Poisson draw: {} units; a draw needs 0 or more", n));
    if (!std::isfinite(rate) || rate < 0 || rate > 1)
        refuse(fmt::format("Poisson draw: the sampling rate is {}; it must lie in [0, 1]", rate));
    std::vector<std::int64_t> drawn;
    for (std::int64_t i = 0; i < n; ++i)
        if (happens(uniform64(), rate)) drawn.push_back(i);
    return drawn;
}

}  // namespace rldp::data
