#include "monitor/watch/curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace rldp::monitor {

namespace {

/// Of one span of steps; in order, each once.
void add_extremes(std::span<const point> of, std::vector<point>& to) {
    if (of.empty()) return;
    const auto by_value = [](const point& a, const point& b) { return a.value < b.value; };
    const auto [least, greatest] = std::minmax_element(of.begin(), of.end(), by_value);
    std::array<std::ptrdiff_t, 4> chosen = {0, least - of.begin(), greatest - of.begin(), std::ssize(of) - 1};
    std::sort(chosen.begin(), chosen.end());
    const auto end = std::unique(chosen.begin(), chosen.end());
    for (auto at = chosen.begin(); at != end; ++at) to.push_back(of[static_cast<std::size_t>(*at)]);
}

}  // namespace

void curve::add(point what) {
    if (!std::isfinite(what.value)) return;
    if (points_.empty() || what.step > points_.back().step) {
        if (points_.size() >= most_points)
            points_ = thinned(points_.front().step, points_.back().step, most_points / 2);
        points_.push_back(what);
        return;
    }
    const auto place = std::lower_bound(points_.begin(), points_.end(), what.step,
                                        [](const point& one, std::int64_t step) { return one.step < step; });
    if (place->step == what.step)
        place->value = what.value;
    else
        points_.insert(place, what);
}

std::optional<point> curve::last() const {
    if (points_.empty()) return std::nullopt;
    return points_.back();
}

std::vector<point> curve::thinned(std::int64_t from, std::int64_t to, std::size_t most) const {
    const auto first = std::lower_bound(points_.begin(), points_.end(), from,
                                        [](const point& one, std::int64_t step) { return one.step < step; });
    const auto end =
        std::upper_bound(first, points_.end(), to, [](std::int64_t step, const point& one) { return step < one.step; });
    const std::span<const point> all(first, end);
    if (all.size() <= most) return {all.begin(), all.end()};
    const auto spans = static_cast<double>(std::max<std::size_t>(1, most / 4));
    const auto begin_step = static_cast<double>(all.front().step);
    const double width = (static_cast<double>(all.back().step) - begin_step + 1) / spans;
    std::vector<point> out;
    auto begin = all.begin();
    for (double i = 1; begin != all.end(); ++i) {
        const double limit = begin_step + i * width;
        const auto next =
            std::find_if(begin, all.end(), [&](const point& one) { return static_cast<double>(one.step) >= limit; });
        add_extremes({begin, next}, out);
        begin = next;
    }
    return out;
}

}  // namespace rldp::monitor
