#include "monitor/watch/history.hpp"

#include <algorithm>
#include <utility>

namespace rldp::monitor {

void history::add(const eval::metrics_line& line) {
    for (const auto& row : eval::quantities)
        if (const auto value = row.value_in(line))
            curves_[static_cast<std::size_t>(row.which)].add(
                {row.when == eval::moment::price ? line.progress.step : line.step, *value});
    if (!line.radii.empty()) {  // else it is an evaluation alone
        count(line);
        snapshot now{.step = line.step, .radii = {line.radii.begin(), line.radii.end()}, .rates = {}, .shares = {}};
        if (line.steered) {
            now.rates.assign(line.steered->rates.begin(), line.steered->rates.end());
            now.shares.assign(line.steered->shares.begin(), line.steered->shares.end());
        }
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
        if (now.radii == before.radii && now.rates == before.rates && now.shares == before.shares) return;
    }
    if (snapshots_.size() >= most_snapshots) {  // every other one goes, but the latest
        std::size_t kept = 0;
        for (std::size_t i = 1; i < snapshots_.size(); i += 2) std::swap(snapshots_[kept++], snapshots_[i]);
        snapshots_.resize(kept);
    }
    snapshots_.push_back(std::move(now));
}

}  // namespace rldp::monitor
