#include "monitor/terminal/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace rldp::monitor {

namespace {

constexpr std::size_t spark_width = 10;
constexpr std::size_t least_name = 12, most_name = 48, most_state = 11;
constexpr std::size_t other_columns = 43;  // of a line, besides name, state and steps

std::string number(double x) {
    return std::isfinite(x) ? fmt::format("{:.4g}", x) : std::string("–");
}

std::string steps_of(const telemetry& seen) {
    return fmt::format("{}/{}", seen.step, seen.steps);
}

/// The end of a name tells cells of a grid apart.
std::string fitted(const std::string& name, std::size_t width) {
    return name.size() <= width ? name : "…" + name.substr(name.size() - width + 1);
}

}  // namespace

std::string sparkline(const std::deque<double>& values, std::size_t width) {
    static constexpr std::array heights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    std::string out(width - std::min(width, values.size()), ' ');
    if (values.empty()) return out;
    const auto begin = values.end() - static_cast<std::ptrdiff_t>(std::min(width, values.size()));
    const auto [least, greatest] = std::minmax_element(begin, values.end());
    const double span = *greatest - *least;
    for (auto one = begin; one != values.end(); ++one)
        out += heights[span > 0 ? static_cast<std::size_t>(std::lround((*one - *least) / span * 7)) : 0];
    return out;
}

void run_table::observe(const telemetry& seen) {
    auto& known = runs_[seen.run];
    if (seen.step < known.latest.step) known.losses.clear();  // it began anew
    if (std::isfinite(seen.loss) && (known.losses.empty() || seen.step > known.latest.step))
        known.losses.push_back(seen.loss);
    if (known.losses.size() > spark_width) known.losses.pop_front();
    known.latest = seen;
}

std::string run_table::drawn(std::size_t width, std::size_t height) const {
    std::vector<const row*> shown;
    for (const auto& [name, one] : runs_) shown.push_back(&one);
    std::stable_partition(shown.begin(), shown.end(), [](const row* one) { return !is_over(one->latest); });
    std::size_t states = 5, steps = 4;
    for (const auto* one : shown) {
        states = std::max(states, std::min(most_state, one->latest.state.size()));
        steps = std::max(steps, steps_of(one->latest).size());
    }
    const auto others = states + steps + other_columns;
    const auto names = std::clamp(width > others ? width - others : 0, least_name, most_name);
    auto out = fmt::format("{:{}}  {:{}} {:>{}}  {:{}} {:>7} {:>7} {:>11}\n", "run", names, "state", states, "steps",
                           steps, "loss", spark_width, "", "ppl", "ε, of");
    std::size_t lines = 1;
    for (const auto* one : shown) {
        if (++lines >= height && shown.size() + 1 > height) {
            out += fmt::format("… and {} more\n", shown.size() + 2 - lines);
            break;
        }
        const auto& seen = one->latest;
        const auto promise = std::isfinite(seen.guaranteed_epsilon) ? fmt::format("{:.4g}", seen.guaranteed_epsilon)
                                                                    : std::string("none");
        out += fmt::format("{:{}}  {:{}} {:>{}}  {} {:>7} {:>7} {:>11}\n", fitted(seen.run, names), names,
                           seen.state.substr(0, most_state), states, steps_of(seen), steps,
                           sparkline(one->losses, spark_width), number(seen.loss), number(seen.perplexity),
                           fmt::format("{}, {}", number(seen.progress_epsilon), promise));
    }
    return out;
}

}  // namespace rldp::monitor
