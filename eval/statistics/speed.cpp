#include "eval/statistics/speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/base/require.hpp"

namespace rldp::eval {
namespace {

void check_positions(const std::vector<curve_point>& curve, double end) {
    for (std::size_t i = 0; i < curve.size(); ++i) {
        const double at = curve[i].position;
        refuse_unless(at >= 0 && at <= end, fmt::format("position {} of a curve is {}, not in [0, {}]", i, at, end));
        refuse_unless(i == 0 || at > curve[i - 1].position,
                      fmt::format("position {} of a curve is {}, not above the one before it", i, at));
    }
}

bool reaches(double value, double target, better which) {
    return std::isfinite(value) && (which == better::lower ? value <= target : value >= target);
}

}  // namespace

std::optional<double> share_to_target(const std::vector<curve_point>& curve, double end, double target, better which) {
    refuse_unless(std::isfinite(target), fmt::format("the target of a curve is {}, no finite number", target));
    refuse_unless(is_positive(end), fmt::format("the end of a curve is {}, not positive and finite", end));
    check_positions(curve, end);
    const auto first = std::find_if(curve.begin(), curve.end(),
                                    [&](const curve_point& at) { return reaches(at.value, target, which); });
    if (first == curve.end()) return std::nullopt;
    return first->position / end;
}

speed_to_target speed_over(const std::vector<std::optional<double>>& shares) {
    require(!shares.empty(), "the speed of no run");
    double sum = 0;
    for (const auto& share : shares) sum += share.value_or(1);
    const auto censored = std::count(shares.begin(), shares.end(), std::nullopt);
    return {sum / static_cast<double>(shares.size()), shares.size(), static_cast<std::size_t>(censored)};
}

}  // namespace rldp::eval
