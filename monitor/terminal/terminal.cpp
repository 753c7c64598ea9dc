#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "monitor/terminal/columns.hpp"
#include "monitor/terminal/terminal.hpp"

namespace rldp::monitor {

namespace {

using eval::quantity;

std::string bar(double done, std::size_t width) {
    const auto full = static_cast<std::size_t>(std::lround(std::clamp(done, 0.0, 1.0) * static_cast<double>(width)));
    std::string out;
    for (std::size_t i = 0; i < width; ++i) out += i < full ? "█" : "░";
    return out;
}

/// A part of the line; where there is no room, those of least worth go.
struct part {
    std::string text;
    int worth;
};
constexpr int worth_of_name = 7, most_worth = 10;
constexpr std::size_t least_run = 12, least_bar = 8, most_bar = 30;

/// What stands behind name and bar.
std::vector<part> list_parts(const run_view& seen, std::optional<std::chrono::seconds> left) {
    const auto or_dash = [](double x) { return std::isfinite(x) ? fmt::format("{:.3f}", x) : std::string("–"); };
    const bool priced = seen.progress_step > 0, holds = seen.contract && seen.contract->any;
    std::vector<part> out;
    const auto add = [&](int worth, std::string text) { out.push_back({std::move(text), worth}); };
    add(most_worth, fmt::format(" step {}/{}", seen.step, seen.steps));
    add(4, fmt::format("  loss {}", or_dash(seen.value(quantity::loss))));
    add(9, priced ? fmt::format("  ε ~{:.2f}", seen.value(quantity::epsilon_spent)) : std::string("  ε –"));
    if (priced && seen.progress_step != seen.step) add(1, fmt::format(" as of step {},", seen.progress_step));
    if (seen.contract) {
        add(7, fmt::format(" of {:.2f}", seen.contract->epsilon_budget));
        add(holds ? 2 : 9, holds ? " guaranteed" : " NO GUARANTEE");
    }
    if (const auto& found = seen.latest[quantity::perplexity]; std::isfinite(found.value)) {
        add(5, fmt::format("  perplexity {}", or_dash(found.value)));
        if (found.within) add(3, fmt::format(" ({}–{})", or_dash(found.within->low), or_dash(found.within->high)));
        add(3, fmt::format(" at {}", seen.evaluated_step));
    }
    if (seen.state == "stopping")
        add(8, "  stopping; once more ends it at once");
    else if (seen.state != "running")
        add(8, fmt::format("  {}", seen.state));
    else if (left)
        add(6, fmt::format("  {:%H:%M:%S} left", *left));
    return out;
}

}  // namespace

void time_left::observe(const run_view& seen, clock::time_point now) {
    if (first_step_ < 0 || seen.step < step_) {
        first_step_ = seen.step;
        first_ = now;
    }
    step_ = seen.step;
    steps_ = seen.steps;
    last_ = now;
}

std::optional<std::chrono::seconds> time_left::estimate() const {
    if (first_step_ < 0 || step_ <= first_step_) return std::nullopt;
    const double per_step =
        std::chrono::duration<double>(last_ - first_).count() / static_cast<double>(step_ - first_step_);
    return std::chrono::seconds(std::llround(per_step * static_cast<double>(steps_ - step_)));
}

std::string progress_line(const run_view& seen, std::optional<std::chrono::seconds> left, std::size_t width) {
    const auto parts = list_parts(seen, left);
    const auto name = columns(seen.name), short_name = std::min(name, least_run);
    const auto used_above = [&](int least) {
        std::size_t out = least <= worth_of_name ? short_name + 1 + least_bar : 0;
        for (const auto& one : parts)
            if (one.worth >= least) out += columns(one.text);
        return out;
    };
    int least = 1;
    while (used_above(least) > width && least < most_worth) ++least;
    std::string out;
    if (least <= worth_of_name) {  // what is left is the name's first, and then the bar's
        const auto room = width - used_above(least), named = std::min(name, short_name + room);
        const double done = seen.steps > 0 ? static_cast<double>(seen.step) / static_cast<double>(seen.steps) : 0;
        out = fmt::format("{} {}", fitting_name(seen.name, named),
                          bar(done, std::min(most_bar, least_bar + room - (named - short_name))));
    }
    for (const auto& one : parts)
        if (one.worth >= least) out += out.empty() ? one.text.substr(1) : one.text;
    return fitting(out, width);
}

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
    std::stable_partition(shown.begin(), shown.end(), [](const row* one) { return goes_on(one->latest); });
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
        out +=
            line(seen.name, seen.state.substr(0, most_state), format_steps(seen), sparkline(one->losses, spark_width),
                 number(seen.value(quantity::loss)), number(seen.value(quantity::perplexity)),
                 fmt::format("{}, {}", number(seen.value(quantity::epsilon_spent)), promise));
    }
    return out;
}

}  // namespace rldp::monitor
