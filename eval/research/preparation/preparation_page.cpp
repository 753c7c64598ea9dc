#include "eval/research/preparation/preparation_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "eval/report/page.hpp"
#include "rl/prepared/prepared_policy.hpp"
#include "run/artifacts/formatting.hpp"

namespace rldp::eval {
namespace {

// Mid tones: legible on white, on black and in grey print.
constexpr std::array colours = {"#2f7ed8", "#d9822b", "#3a9a5b", "#a04fc0", "#8a93a0", "#c0504d"};

const nlohmann::json* find(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
}

std::string percent(double log_ratio) {
    return fmt::format("{:+.1f} %", 100 * std::expm1(log_ratio));
}

// Differences of log losses: mean with its 95 % interval, and the share of tasks that are won.
std::vector<std::string> make_row(const std::string& name, const std::string& kind, const nlohmann::json& found) {
    const double mean = found.at("mean"), error = found.at("standard_error"), wins = found.at("wins");
    return {escaped(name), kind, percent(mean),
            fmt::format("{} … {}", percent(mean - 1.96 * error), percent(mean + 1.96 * error)),
            fmt::format("{:.0f} %", 100 * wins)};
}

std::string gate_table(const nlohmann::json& figures) {
    const auto* gate = find(figures, "gate");
    if (gate == nullptr) return {};
    std::vector<std::vector<std::string>> rows;
    const std::array<std::array<const char*, 3>, 8> all = {
        {{"hindsight", "the best schedule of each task", "schedule"},
         {"timetable", "a timetable", "schedule"},
         {"rule", "the rule alone", "schedule"},
         {"deaf", "the policy's mean timetable, deaf to the run", "schedule"},
         {"shuffled", "the policy, shown another task's releases", "schedule"},
         {"policy", "the policy", "schedule"},
         {"feedback", "the policy", "timetable"},
         {"default_rate", "the policy, at the rates that are chosen", "schedule"}}};
    for (const auto& [key, name, than] : all)
        if (const auto* one = find(*gate, key)) rows.push_back(make_row(name, than, *one));
    if (const auto* nobody = find(*gate, "nobody"))
        for (const auto& [family, found] : nobody->items())
            rows.push_back(make_row("the policy, at the rates that are chosen: " + family, "nobody steers", found));
    return html_table("The gate: loss on tasks of held-out families, against the best of equal search",
                      {"", "than the best", "loss", "95 % of such comparisons", "tasks won"}, rows, 2);
}

std::string families_table(const nlohmann::json& figures) {
    const auto* gains = find(figures, "gains");
    if (gains == nullptr || gains->empty()) return {};
    const auto held_out = figures.at("held_out").get<std::vector<std::string>>();
    std::vector<std::vector<std::string>> rows;
    for (const auto& [name, found] : gains->items()) {
        const bool held = std::find(held_out.begin(), held_out.end(), name) != held_out.end();
        rows.push_back(make_row(name, held ? "held out" : "prepared on, other tasks", found));
    }
    return html_table("The policy against the schedule that knows the plan, family by family",
                      {"family", "", "loss", "95 % of such comparisons", "tasks won"}, rows, 2);
}

// Of series over 1, 2, …: where the longest ends, two at least, for an axis has a length.
double longest(const std::vector<series>& lines) {
    std::size_t most = 2;
    for (const auto& one : lines) most = std::max(most, one.points.size());
    return static_cast<double>(most);
}

captioned search_figure(const nlohmann::json& figures) {
    captioned out;
    out.drawing = {.id = "searches",
                   .title = "How the searches went",
                   .x_label = "generation",
                   .y_label = "mean loss, log of nats per token",
                   .lines = {},
                   .x_range = {},
                   .y_range = {},
                   .log_y = false};
    out.caption =
        "Every generation plays other tasks, so curves go up and down together; what counts is how they lie to each "
        "other.";
    const auto* curves = find(figures, "curves");
    if (curves == nullptr) return out;
    for (std::size_t i = 0; const auto& [name, means] : curves->items()) {
        series one{name, mark::marked_line, colours[i++ % colours.size()], {}};
        for (const auto& mean : means)
            if (mean.is_number()) one.points.emplace_back(static_cast<double>(one.points.size() + 1), mean);
        out.drawing.lines.push_back(std::move(one));
    }
    drop_empty(out.drawing.lines);
    out.drawing.x_range = {1, longest(out.drawing.lines)};
    return out;
}

captioned residual_figure(const nlohmann::json& figures) {
    captioned out;
    out.drawing = {.id = "residual",
                   .title = "What SAC adds to the rule",
                   .x_label = "judged",
                   .y_label = "log loss less the rule's",
                   .lines = {},
                   .x_range = {},
                   .y_range = {},
                   .log_y = false};
    out.caption = "On validation tasks, as it learns; below zero it helps. Of these, the surest gain was kept, if any.";
    const auto* before = find(figures, "before");
    const auto* means = find(before == nullptr ? figures : *before, "residual_curve");
    if (means == nullptr) return out;
    series one{"", mark::marked_line, colours[0], {}};
    for (const auto& mean : *means)
        if (mean.is_number()) one.points.emplace_back(static_cast<double>(one.points.size() + 1), mean);
    out.drawing.lines.push_back(std::move(one));
    drop_empty(out.drawing.lines);
    out.drawing.x_range = {1, longest(out.drawing.lines)};
    return out;
}

captioned paths_figure(const std::vector<rate_path>& paths) {
    captioned out;
    out.drawing = {.id = "paths",
                   .title = "What the policy does",
                   .x_label = "share of the steps",
                   .y_label = "common factor of the learning rate",
                   .lines = {},
                   .x_range = {0, 1},
                   .y_range = {},
                   .log_y = true};
    for (std::size_t i = 0; i < paths.size(); ++i)
        out.drawing.lines.push_back({fmt::format("rate ×{:.2g}", paths[i].began), mark::steps,
                                     colours[i % colours.size()], changes(paths[i].factors)});
    drop_empty(out.drawing.lines);
    out.caption =
        "Tasks of held-out families, by how far from the usual one the rate was that they began with: a policy that "
        "listens raises a low rate and lowers a high one.";
    return out;
}

std::string rule_table(const rl::prepared_parts& parts) {
    constexpr std::array names = {"gain", "settle", "aim", "softness"};
    static_assert(names.size() == rl::rule::count);
    std::vector<std::vector<std::string>> rows;
    for (std::size_t k = 0; k < names.size(); ++k)
        rows.push_back({names[k], fmt::format("{:.3f}", parts.how.numbers[k])});
    return html_table("The rule", {"", "number"}, rows);
}

std::string schedules_table(const rl::prepared_parts& parts) {
    constexpr std::array names = {
        "log rate", "per log z√D/B", "per log of steps", "per log of adapters", "per log of bands", "tilt", "tail"};
    static_assert(names.size() == rl::schedule::count);
    std::vector<std::vector<std::string>> rows;
    for (std::size_t k = 0; k < names.size(); ++k)
        rows.push_back({names[k], fmt::format("{:.3f}", parts.fixed.numbers[k]),
                        fmt::format("{:.3f}", parts.best_fixed.numbers[k])});
    return html_table("Schedules, by what is known beforehand", {"", "under the rule", "deaf"}, rows);
}

}  // namespace

std::string preparation_html(const rl::prepared_policy& of, const std::vector<rate_path>& paths) try {
    const auto& parts = of.parts();
    const auto parsed_figures = nlohmann::json::parse(parts.figures);
    auto out = std::string("<h1>A prepared controller</h1>\n") + html_list(rl::describe_policy(of));
    out += "<h2>What it wins</h2>\n" + gate_table(parsed_figures) + "<br>" + families_table(parsed_figures);
    std::vector<captioned> drawn = {paths_figure(paths), search_figure(parsed_figures),
                                    residual_figure(parsed_figures)};
    std::erase_if(drawn, [](const captioned& one) { return one.empty(); });
    if (!drawn.empty()) out += "<h2>How</h2>\n" + figures(drawn, "The numbers are in the policy's file");
    out += rule_table(parts) + "<br>" + schedules_table(parts);
    return page("A prepared controller", out);
} catch (const nlohmann::json::exception&) {
    return page("A prepared controller", "<h1>A prepared controller</h1>\n" + html_list(rl::describe_policy(of)));
}

}  // namespace rldp::eval
