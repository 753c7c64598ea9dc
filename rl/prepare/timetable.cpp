#include "rl/prepare/timetable.hpp"

#include <algorithm>
#include <cmath>

#include "config/base/require.hpp"

namespace rldp::rl {

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
