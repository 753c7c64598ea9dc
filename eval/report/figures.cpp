#include "eval/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "run/artifacts/formatting.hpp"

namespace rldp::eval {
namespace {

// Mid tones: legible on white, on black and in grey print.
constexpr auto blue = "#2f7ed8", orange = "#d9822b", grey = "#8a93a0";

/// A colour on the way from `one` to `other`, both #rrggbb.
std::string between(std::string_view one, std::string_view other, double share) {
    std::string out = "#";
    for (const std::size_t at : {1, 3, 5}) {
        const auto part = [&](std::string_view of) {
            return static_cast<double>(std::stoi(std::string(of.substr(at, 2)), nullptr, 16));
        };
        out += fmt::format("{:02x}", std::lround(part(one) + share * (part(other) - part(one))));
    }
    return out;
}

using value_function = std::function<std::optional<double>(const metrics_line&)>;

curve over_steps(const std::vector<metrics_line>& metrics, const value_function& value) {
    curve points;
    for (const auto& line : metrics)
        if (const auto y = value(line); y && std::isfinite(*y)) points.emplace_back(static_cast<double>(line.step), *y);
    return points;
}

curve interval_means(const curve& points, std::size_t width) {
    curve means;
    for (std::size_t begin = 0; begin < points.size(); begin += width) {
        const auto end = std::min(begin + width, points.size());
        if (2 * (end - begin) < width && begin > 0) break;  // too short a rest to compare with the others
        double x = 0, y = 0;
        for (std::size_t i = begin; i < end; ++i) x += points[i].first, y += points[i].second;
        const auto count = static_cast<double>(end - begin);
        means.emplace_back(x / count, y / count);
    }
    return means;
}

// What 96 % of the points and all means need, with a margin: a rare outlier must not flatten the rest.
std::pair<double, double> usual_range(const curve& points, const curve& means) {
    std::vector<double> values;
    for (const auto& point : points) values.push_back(point.second);
    std::sort(values.begin(), values.end());
    const auto cut = values.size() / 50;
    double low = values[cut], high = values[values.size() - 1 - cut];
    for (const auto& mean : means) low = std::min(low, mean.second), high = std::max(high, mean.second);
    const double margin = high > low ? 0.05 * (high - low) : 0.05 * std::max(1.0, std::abs(high));
    return {low - margin, high + margin};
}

captioned perplexity_figure(const run_summary& summary, const std::vector<metrics_line>& metrics) {
    const auto points = over_steps(metrics, [](const auto& line) { return line.eval_perplexity; });
    captioned result;
    result.drawing = {"perplexity", "Held-out perplexity", "step", "perplexity per token", {}, {}, {}, false};
    result.drawing.lines = {{"", mark::marked_line, blue, thinned(points, 800)}};
    // At each look where it lies, and nothing between them.
    series noise{"95 % of the noise", mark::line, grey, {}};
    for (const auto& line : metrics)
        if (const auto& in = line.eval_perplexity_in)
            for (const double y : {in->low, in->high, double{NAN}}) noise.points.emplace_back(line.step, y);
    result.drawing.lines.push_back(std::move(noise));
    drop_empty(result.drawing.lines);
    result.drawing.log_y = spans_decades(result.drawing.lines);
    result.caption = "Perplexity of the held-out units: " + held_out_sentence(summary) + ". It steered nothing.";
    return result;
}

captioned loss_figure(const std::vector<metrics_line>& metrics) {
    const auto points = over_steps(metrics, [](const auto& line) { return line.loss_released; });
    const std::size_t width = std::max<std::size_t>(10, (points.size() + 39) / 40);
    const auto means = interval_means(points, width);
    captioned result;
    result.drawing = {"loss", "Training loss as released", "step", "loss in nats per token", {}, {}, {}, false};
    result.drawing.lines = {{"each step", mark::dots, grey, thinned(points, 1500)},
                            {fmt::format("mean of {} steps", width), mark::marked_line, blue, means}};
    if (!points.empty()) result.drawing.y_range = usual_range(points, means);
    result.caption =
        "Every value carries the noise of its release, so single steps scatter. A few outliers lie outside the frame.";
    return result;
}

captioned radii_figure(const std::vector<metrics_line>& metrics) {
    std::size_t groups = 0;
    for (const auto& line : metrics) groups = std::max(groups, line.radii.size());
    captioned result;
    result.drawing = {"radii", "Clip radius of each group", "step", "clip radius", {}, {}, {}, false};
    for (std::size_t i = 0; i < groups; ++i) {
        const auto radius = [i](const auto& line) {
            return i < line.radii.size() ? std::optional(line.radii[i]) : std::nullopt;
        };
        result.drawing.lines.push_back(
            {i == 0 ? "each group" : "", mark::thin_steps, grey, changes(over_steps(metrics, radius))});
    }
    const auto mean = [](const auto& line) -> std::optional<double> {
        double sum = 0;
        for (const double radius : line.radii) sum += radius;
        return line.radii.empty() ? std::nullopt : std::optional(sum / static_cast<double>(line.radii.size()));
    };
    result.drawing.lines.push_back({"mean", mark::steps, blue, changes(over_steps(metrics, mean))});
    result.drawing.log_y = spans_decades(result.drawing.lines);
    result.caption = "The L2 norm to which a unit's gradient is cut, per group. Radii cost no privacy.";
    return result;
}

captioned rate_figure(const std::vector<metrics_line>& metrics) {
    std::size_t groups = 0;
    for (const auto& line : metrics)
        if (line.steered) groups = std::max(groups, line.steered->rates.size());
    captioned result;
    result.drawing = {"rates", "Factors of the learning rate", "step", "factor of the schedule", {}, {}, {}, false};
    for (std::size_t i = 0; i < groups; ++i) {
        const auto factor = [i](const auto& line) -> std::optional<double> {
            if (!line.steered || i >= line.steered->rates.size()) return {};
            return line.steered->lr_factor * line.steered->rates[i];
        };
        result.drawing.lines.push_back(
            {i == 0 ? "each group" : "", mark::thin_steps, grey, changes(over_steps(metrics, factor))});
    }
    const auto common = [](const auto& line) {
        return line.steered ? std::optional(line.steered->lr_factor) : std::nullopt;
    };
    result.drawing.lines.push_back({"common", mark::steps, blue, changes(over_steps(metrics, common))});
    result.drawing.log_y = spans_decades(result.drawing.lines);
    result.caption = "What the prepared controller made of its schedule. It saw releases only.";
    return result;
}

captioned noise_figure(const std::vector<metrics_line>& metrics) {
    const auto z = over_steps(metrics, [](const auto& line) -> std::optional<double> {
        return line.noise_multiplier > 0 ? std::optional(line.noise_multiplier) : std::nullopt;
    });
    captioned result;
    result.drawing = {"noise", "Noise multiplier", "step", "noise multiplier z", {}, {}, {}, false};
    result.drawing.lines = {{"", mark::steps, blue, thinned(changes(z), 2000)}};
    result.caption = "Standard deviation of the noise over L2 sensitivity, as granted and charged.";
    return result;
}

captioned deck_figure(const run_summary& summary, const std::vector<metrics_line>& metrics) {
    captioned result;
    result.drawing = {"deck", "Deck left", "step", "steps left at this noise multiplier", {}, {}, {}, false};
    for (std::size_t i = 0; i < summary.deck.size(); ++i) {
        const auto& [multiplier, planned] = summary.deck[i];
        auto left = static_cast<double>(planned);
        curve points = {{0, left}};
        for (const auto& line : metrics) {
            if (line.noise_multiplier != multiplier) continue;
            points.emplace_back(static_cast<double>(line.step) - 1, left);
            points.emplace_back(static_cast<double>(line.step), --left);
        }
        if (!metrics.empty()) points.emplace_back(static_cast<double>(metrics.back().step), left);
        // From orange, the least noise, to blue; a line without a name says nothing.
        const double share =
            summary.deck.size() > 1 ? static_cast<double>(i) / static_cast<double>(summary.deck.size() - 1) : 0;
        result.drawing.lines.push_back(
            {fmt::format("z = {:.3g}", multiplier), mark::line, between(orange, blue, share), thinned(points, 500)});
    }
    result.caption =
        "How many steps of each noise level the controller has not dealt yet. Only the order is its choice.";
    return result;
}

captioned epsilon_figure(const run_summary& summary, const std::vector<metrics_line>& metrics, double last_step) {
    curve progress;
    for (const auto& line : metrics)
        if (line.progress.step > 0 &&
            (progress.empty() || static_cast<double>(line.progress.step) > progress.back().first))
            progress.emplace_back(static_cast<double>(line.progress.step), line.progress.epsilon);
    captioned result;
    result.drawing = {"epsilon", "Privacy budget", "step", "ε", {}, {}, {}, false};
    result.drawing.lines = {{"progress, no guarantee", mark::marked_line, orange, thinned(progress, 500)}};
    double top = summary.epsilon_budget;
    for (const auto& point : progress) top = std::max(top, point.second);
    // Without a guarantee there is none to draw, whatever number stands in its place.
    if (summary.guarantee().holds() && !progress.empty()) {
        const double level = summary.epsilon_guaranteed;
        result.drawing.lines.push_back({"guaranteed", mark::line, blue, {{0, level}, {last_step, level}}});
        top = std::max(top, level);
    }
    if (std::isfinite(summary.epsilon_budget) && !progress.empty())
        result.drawing.lines.push_back(
            {"budget", mark::dashed, grey, {{0, summary.epsilon_budget}, {last_step, summary.epsilon_budget}}});
    result.drawing.y_range = {0, std::isfinite(top) && top > 0 ? 1.08 * top : 1};
    result.caption = fmt::format("At δ = {}. Progress prices the steps so far, now and then, for orientation only.",
                                 readable(summary.delta));
    return result;
}

}  // namespace

bool captioned::empty() const {
    return std::all_of(drawing.lines.begin(), drawing.lines.end(),
                       [](const auto& line) { return line.points.empty(); });
}

std::vector<captioned> report_figures(const run_summary& summary, const std::vector<metrics_line>& metrics) {
    const double last = metrics.empty() ? 1 : std::max(1.0, static_cast<double>(metrics.back().step));
    std::vector<captioned> all = {perplexity_figure(summary, metrics), loss_figure(metrics), radii_figure(metrics),
                                  noise_figure(metrics), epsilon_figure(summary, metrics, last)};
    if (!summary.controller.empty()) all.push_back(rate_figure(metrics));
    if (!summary.deck.empty()) all.push_back(deck_figure(summary, metrics));
    for (auto& one : all) {
        one.drawing.x_range = {0, last};
        drop_empty(one.drawing.lines);
    }
    return all;
}

}  // namespace rldp::eval
