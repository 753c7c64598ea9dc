#include "monitor/terminal/terminal.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "monitor/terminal/columns.hpp"

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

}  // namespace rldp::monitor
