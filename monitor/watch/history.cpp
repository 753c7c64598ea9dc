#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "monitor/watch/history.hpp"

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

void history::add(const eval::metrics_line& line) {
    for (const auto& row : eval::quantities)
        if (const auto value = row.value_in(line))
            curves_[static_cast<std::size_t>(row.which)].add(
                {row.when == eval::moment::price ? line.progress.step : line.step, *value});
    if (!line.radii.empty()) {  // else it is an evaluation alone
        count(line);
        snapshot now{.step = line.step, .radii = {line.radii.begin(), line.radii.end()}, .rates = {}};
        if (line.steered) now.rates.assign(line.steered->rates.begin(), line.steered->rates.end());
        note(std::move(now));
    }
    last_step_ = std::max(last_step_, line.step);
}

/// An evaluation repeats the line of its step.
void history::count(const eval::metrics_line& line) {
    constexpr std::size_t most = 256;
    if (line.step <= last_counted_ || (steps_at_.size() >= most && !steps_at_.contains(line.noise_multiplier))) return;
    ++steps_at_[line.noise_multiplier];
    last_counted_ = line.step;
}

std::int64_t history::steps_at(double noise_multiplier) const {
    const auto found = steps_at_.find(noise_multiplier);
    return found == steps_at_.end() ? 0 : found->second;
}

void history::note(snapshot now) {
    if (!snapshots_.empty()) {
        const auto& before = snapshots_.back();
        if (now.step <= before.step) return;  // told already
        if (now.radii == before.radii && now.rates == before.rates) return;
    }
    if (snapshots_.size() >= most_snapshots) {  // every other one goes, but the latest
        std::size_t kept = 0;
        for (std::size_t i = 1; i < snapshots_.size(); i += 2) std::swap(snapshots_[kept++], snapshots_[i]);
        snapshots_.resize(kept);
    }
    snapshots_.push_back(std::move(now));
}

}  // namespace rldp::monitor
