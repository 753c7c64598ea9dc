#include "eval/grid/comparison/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "eval/report/curves.hpp"
#include "eval/report/html.hpp"

namespace rldp::eval {
namespace {

using of_line = std::function<std::optional<double>(const metrics_line&)>;
using cells_of_grid = std::vector<const measured*>;

// Mid tones, as the run report's: legible on white, on black and, by their order, in grey.
constexpr std::array palette = {"#8a93a0", "#2f7ed8", "#4f9d4f", "#b07aa1", "#17a2a2", "#8c6bb1", "#c98a00",
                                "#7a8f2a", "#e377a2", "#b03060", "#a0785a", "#d43f3a", "#d9822b", "#5b6ee1",
                                "#3c8d6e", "#c2549d", "#9a7d0a", "#00798c", "#b5654a", "#70798a"};

mark choose_mark(role part) {
    return part == role::baseline || part == role::ours ? mark::marked_line : mark::marked_dashed;
}

// Ids are letters only.
std::string letter(std::size_t number) {
    std::string out;
    for (; number >= 26; number /= 26) out += static_cast<char>('a' + number % 26);
    return out + static_cast<char>('a' + number);
}

// One line per method over the steps, at one ε.
captioned over_steps(const compare_plan& plan, const cells_of_grid& cells, double epsilon, figure drawing,
                     const of_line& value, bool dial) {
    double last = 1;
    for (const auto& method : plan.methods) {
        const auto points = mean_over_seeds(cells_at(cells, method.name, epsilon), value);
        if (!points.empty()) last = std::max(last, points.back().first);
        const auto how = dial && choose_mark(method.part) == mark::marked_line ? mark::steps : choose_mark(method.part);
        drawing.lines.push_back({"", how, find_colour(method.name), thinned(dial ? changes(points) : points, 500)});
    }
    drop_empty(drawing.lines);
    drawing.x_range = {0, last};
    drawing.log_y = spans_decades(drawing.lines);
    return {std::move(drawing), ""};
}

/// At one ε: a bar per method, over a bottom just below the least.
captioned bars(const compare_plan& plan, const comparison& numbers, const std::string& prefix) {
    captioned out;
    out.drawing = {prefix + "end",
                   fmt::format("End perplexity at ε = {}", plan.epsilons.front()),
                   "",
                   "held-out perplexity at the end",
                   {},
                   {},
                   {},
                   false};
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const auto& method : plan.methods)
        for (const auto& one : numbers.scores)
            if (one.method == method.name && one.end.mean && std::isfinite(*one.end.mean)) {
                const double place = static_cast<double>(out.drawing.names.size());
                out.drawing.lines.push_back({"", mark::bar, find_colour(method.name), {{place, *one.end.mean}}});
                out.drawing.names.push_back(method.name);
                least = std::min(least, *one.end.mean);
                most = std::max(most, *one.end.mean);
            }
    out.drawing.x_range = {-0.7, static_cast<double>(out.drawing.names.size()) - 0.3};
    if (most > 0) {
        const double span = std::max(most - least, 0.05 * most);
        out.drawing.y_range = {std::max(0.0, least - 0.3 * span), most + 0.1 * span};
    }
    out.caption = "Mean over the seeds that are done. The bars don't begin at nought.";
    return out;
}

captioned against_epsilon(const compare_plan& plan, const comparison& numbers, const std::string& prefix) {
    if (plan.epsilons.size() == 1) return bars(plan, numbers, prefix);
    captioned out;
    out.drawing = {prefix + "end", "End perplexity against ε", "ε", "held-out perplexity at the end", {}, {}, {},
                   false};
    for (const auto& method : plan.methods) {
        curve points;
        for (const auto& one : numbers.scores)
            if (one.method == method.name && one.end.mean && std::isfinite(*one.end.mean))
                points.emplace_back(one.epsilon, *one.end.mean);
        std::sort(points.begin(), points.end());
        out.drawing.lines.push_back({"", choose_mark(method.part), find_colour(method.name), std::move(points)});
    }
    drop_empty(out.drawing.lines);
    const auto [least, most] = std::minmax_element(plan.epsilons.begin(), plan.epsilons.end());
    const double margin = 0.05 * *most;
    out.drawing.x_range = {std::max(0.0, *least - margin), *most + margin};
    out.drawing.log_y = spans_decades(out.drawing.lines);
    out.caption = "Mean over the seeds that are done.";
    return out;
}

std::optional<double> mean_radius(const metrics_line& line) {
    if (line.radii.empty()) return std::nullopt;
    double sum = 0;
    for (const double radius : line.radii) sum += radius;
    return sum / static_cast<double>(line.radii.size());
}

}  // namespace

std::string find_colour(const std::string& method) {
    const auto& all = compared_methods();
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == method; });
    return palette[static_cast<std::size_t>(found - all.begin()) % palette.size()];
}

curve mean_over_seeds(const cells_of_grid& cells, const of_line& value) {
    std::map<std::int64_t, std::vector<double>> at_step;
    std::size_t done = 0;
    for (const auto* one : cells) {
        if (one->result.state != cell_state::done) continue;
        ++done;
        for (const auto& line : one->result.metrics)
            if (const auto y = value(line); y && std::isfinite(*y)) at_step[line.step].push_back(*y);
    }
    curve out;
    for (const auto& [step, values] : at_step)
        if (values.size() == done) out.emplace_back(static_cast<double>(step), *compute_statistic(values).mean);
    return out;
}

std::vector<captioned> utility_figures(const compare_plan& plan, const comparison& numbers, const cells_of_grid& cells,
                                       const std::string& prefix) {
    std::vector<captioned> out = {against_epsilon(plan, numbers, prefix)};
    for (std::size_t i = 0; i < plan.epsilons.size(); ++i) {
        const auto epsilon = plan.epsilons[i];
        figure drawing{prefix + "curve" + letter(i),
                       fmt::format("Held-out perplexity at ε = {}", epsilon),
                       "step",
                       "perplexity per token",
                       {},
                       {},
                       {},
                       false};
        out.push_back(over_steps(
            plan, cells, epsilon, std::move(drawing), [](const auto& line) { return line.eval_perplexity; }, false));
        out.back().caption = "Mean over the seeds that are done.";
    }
    return out;
}

std::vector<captioned> trace_figures(const compare_plan& plan, const cells_of_grid& cells) {
    std::vector<captioned> out;
    for (std::size_t i = 0; i < plan.epsilons.size(); ++i) {
        const auto epsilon = plan.epsilons[i];
        figure radii{"radius" + letter(i),
                     fmt::format("Mean clip radius at ε = {}", epsilon),
                     "step",
                     "clip radius",
                     {},
                     {},
                     {},
                     false};
        out.push_back(over_steps(plan, cells, epsilon, std::move(radii), mean_radius, true));
        out.back().caption = "Mean over adapters and seeds. A method without radii has no line.";
        figure noise{"noise" + letter(i),
                     fmt::format("Noise multiplier at ε = {}", epsilon),
                     "step",
                     "noise multiplier z",
                     {},
                     {},
                     {},
                     false};
        out.push_back(over_steps(
            plan, cells, epsilon, std::move(noise),
            [](const auto& line) -> std::optional<double> {
                if (line.noise_multiplier > 0) return line.noise_multiplier;
                return std::nullopt;
            },
            true));
        out.back().caption = "Mean over seeds of what was charged.";
    }
    return out;
}

}  // namespace rldp::eval
