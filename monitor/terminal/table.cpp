#include "monitor/terminal/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "monitor/terminal/columns.hpp"

namespace rldp::monitor {

namespace {

using eval::quantity;

constexpr std::size_t spark_width = 10, number_width = 7, epsilon_width = 11;
constexpr std::size_t least_name = 18, most_name = 48, most_state = 11;

std::string number(double x) {
    return std::isfinite(x) ? fmt::format("{:.4g}", x) : std::string("–");
}

std::string format_steps(const run_view& seen) {
    return fmt::format("{}/{}", seen.step, seen.steps);
}

/// The columns that there is room for, besides name, state and steps.
struct shown_columns {
    bool sparkline = true, perplexity = true, loss = true;
    std::size_t width() const {
        return (sparkline ? 2 + spark_width : 0) + (loss ? 1 + number_width : 0) + (perplexity ? 1 + number_width : 0) +
               1 + epsilon_width;
    }
};

shown_columns columns_within(std::size_t width) {
    shown_columns out;
    for (bool shown_columns::*least : {&shown_columns::sparkline, &shown_columns::perplexity, &shown_columns::loss})
        if (out.width() > width) out.*least = false;
    return out;
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

void run_table::observe(const run_view& seen) {
    auto& known = runs_[seen.name];
    if (seen.step < known.latest.step) known.losses.clear();  // it began anew
    const double loss = seen.value(quantity::loss);
    if (std::isfinite(loss) && (known.losses.empty() || seen.step > known.latest.step)) known.losses.push_back(loss);
    if (known.losses.size() > spark_width) known.losses.pop_front();
    known.latest = seen;
}

std::string run_table::drawn(std::size_t width, std::size_t height) const {
    std::vector<const row*> shown;
    for (const auto& [name, one] : runs_) shown.push_back(&one);
    std::stable_partition(shown.begin(), shown.end(), [](const row* one) { return !is_over(one->latest); });
    std::size_t states = 5, steps = 4, longest = 3;
    for (const auto* one : shown) {
        longest = std::max(longest, columns(one->latest.name));
        states = std::max(states, std::min(most_state, one->latest.state.size()));
        steps = std::max(steps, format_steps(one->latest).size());
    }
    const auto fixed = 2 + states + 1 + steps;
    const auto least = std::min(least_name, longest);
    const auto room = width > fixed + least ? width - fixed - least : 0;
    const auto more = columns_within(room);
    const auto names = std::min(most_name, least + (room > more.width() ? room - more.width() : 0));
    const auto line = [&](const std::string& run, const std::string& state, const std::string& step,
                          const std::string& spark, const std::string& loss, const std::string& perplexity,
                          const std::string& epsilon) {
        auto out = fmt::format("{:{}}  {:{}} {:>{}}", fitting_name(run, names), names, state, states, step, steps);
        if (more.sparkline) out += fmt::format("  {:{}}", spark, spark_width);
        if (more.loss) out += fmt::format(" {:>{}}", loss, number_width);
        if (more.perplexity) out += fmt::format(" {:>{}}", perplexity, number_width);
        return fitting(out + fmt::format(" {:>{}}", epsilon, epsilon_width), width) + "\n";
    };
    auto out = line("run", "state", "steps", "", "loss", "ppl", "ε, of");
    std::size_t lines = 1;
    for (const auto* one : shown) {
        if (++lines >= height && shown.size() + 1 > height) {
            out += fitting(fmt::format("… and {} more", shown.size() + 2 - lines), width) + "\n";
            break;
        }
        const auto& seen = one->latest;
        const auto promise = !seen.contract       ? std::string("–")
                             : seen.contract->any ? fmt::format("{:.4g}", seen.contract->epsilon_guaranteed)
                                                  : std::string("none");
        out += line(seen.name, seen.state.substr(0, most_state), format_steps(seen), sparkline(one->losses, spark_width),
                    number(seen.value(quantity::loss)), number(seen.value(quantity::perplexity)),
                    fmt::format("{}, {}", number(seen.value(quantity::epsilon_spent)), promise));
    }
    return out;
}

}  // namespace rldp::monitor
