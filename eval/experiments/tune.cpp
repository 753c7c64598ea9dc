#include "eval/experiments/tune.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.hpp"
#include "base/guarantee.hpp"
#include "base/kinds.hpp"
#include "config/schema.hpp"
#include "eval/report/page.hpp"
#include "run/artifacts/formatting.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* final_id = "final";

void refuse_priced(const std::vector<axis>& axes) {
    for (const auto& one : axes)
        if (!config::find_key(one.name)->tunable)
            refuse(fmt::format(
                "--grid {}: may change what a run costs or what it reads, and the runs of a tuning are alike "
                "in that; rldp tune --help lists what can be tried",
                one.name));
}

/// How many settings a grid has. Errors: bad_input beyond what is ever listed.
std::int64_t count_settings(const std::vector<axis>& axes) {
    constexpr std::int64_t most = 100'000;
    std::int64_t out = 1;
    for (const auto& one : axes) {
        out *= std::ssize(one.values);
        if (out > most) refuse(fmt::format("tune: the grid has more than {} settings; give fewer values", most));
    }
    return out;
}

std::int64_t count_trials(std::optional<std::int64_t> asked, std::int64_t settings) {
    const auto out = asked.value_or(settings);
    if (out > settings)
        refuse(fmt::format("--trials {}: the grid has {} setting{}; give more values, or fewer trials", out, settings,
                           settings == 1 ? "" : "s"));
    if (out < 2)
        refuse(
            fmt::format("tune: {} trial leaves nothing to choose, and would cost noise; give a --grid of several "
                        "settings, or use rldp run",
                        out));
    if (out >= most_runs)
        refuse(fmt::format("tune: {} trials; a budget pays for at most {}, so give --trials", out, most_runs - 1));
    return out;
}

/// Which settings are tried, in the grid's order: a draw without replacement, by public randomness.
std::vector<std::size_t> draw_settings(std::int64_t settings, std::int64_t trials, std::int64_t seed) {
    std::vector<std::size_t> order(static_cast<std::size_t>(settings));
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto count = static_cast<std::size_t>(trials);
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    for (std::size_t i = 0; count < order.size() && i < count; ++i)
        std::swap(order[i], order[i + random() % (order.size() - i)]);
    order.resize(count);
    std::sort(order.begin(), order.end());
    return order;
}

}  // namespace

std::vector<std::string> list_tunable_keys() {
    std::vector<std::string> out;
    for (const auto& key : config::schema())
        if (key.tunable) out.push_back(key.path);
    return out;
}

tune_plan plan_tune(const std::vector<std::string>& keys, std::optional<std::int64_t> trials, const resolver& resolve) {
    tune_plan plan;
    const auto axes = axes_from(keys);
    refuse_priced(axes);
    const auto settings = count_settings(axes);
    const auto count = count_trials(trials, settings);
    const auto runs = fmt::format("privacy.runs={}", count + 1), unwatched = std::string("monitor.address=null");
    plan.what = {"tune", axes, resolve({runs})};
    if (const auto published = value_at(plan.what.base, "eval.publish"); published != name_of(publication::noised))
        refuse(
            fmt::format("eval.publish is {}, and trials are compared by looks at held-out units that carry noise; give "
                        "\"{}\"",
                        published.dump(), name_of(publication::noised)));
    const auto all = combine(axes);
    const auto seed = value_at(plan.what.base, "seed").get<std::int64_t>();
    for (const auto at : draw_settings(settings, count, seed)) {
        auto one = all[at];
        one.number = plan.trials.size();
        one.id = fmt::format("trial-{}", one.number + 1);
        one.trial = true;
        one.overrides.insert(one.overrides.end(), {runs, unwatched});
        resolve_cell(one, resolve);
        plan.trials.push_back(std::move(one));
    }
    for (const auto& one : axes) erase_key(plan.what.base, one.name);
    erase_key(plan.what.base, "monitor.address");
    return plan;
}

// Price.

namespace {

double percent_more(double with, double without) {
    return 100 * (with / without - 1);
}

}  // namespace

std::string describe(const tune_price& price) {
    return fmt::format(
        "{} runs, {} trials and the final one, share ε = {:.4g} at δ = {:g}: noise multiplier {:.4f} instead of {:.4f} "
        "({:+.1f} %){}, that of looks {:.4g} instead of {:.4g}; each run by itself is worth ε = {:.3g}",
        price.runs, price.runs - 1, price.epsilon_guaranteed, price.delta, price.noise_multiplier, price.alone,
        percent_more(price.noise_multiplier, price.alone),
        price.bands > 1 ? fmt::format(" in {} bands", price.bands) : "", price.look_noise_multiplier, price.look_alone,
        price.epsilon_of_one);
}

json to_json(const tune_price& price) {
    return {{"runs", price.runs},
            {"guaranteed_epsilon", json_number(price.epsilon_guaranteed)},
            {"delta", price.delta},
            {"bands", price.bands},
            {"noise_multiplier", price.noise_multiplier},
            {"noise_multiplier_without_trials", price.alone},
            {"looks_noise_multiplier", price.look_noise_multiplier},
            {"looks_noise_multiplier_without_trials", price.look_alone},
            {"epsilon_of_one_run", json_number(price.epsilon_of_one)}};
}

// Choice.

namespace {

/// That of the last look: a run that ended before has none, whatever it showed on the way.
std::optional<double> find_score(const measured& one) {
    const auto& summary = one.result.summary;
    const auto& metrics = one.result.metrics;
    if (!summary) return {};
    const bool looked = std::any_of(metrics.begin(), metrics.end(), [&](const auto& line) {
        return line.step == summary->steps_planned && line.eval_perplexity;
    });
    return looked ? summary->perplexity_after : std::nullopt;
}

bool is_open(const measured& one) {
    return one.result.state != cell_state::done && !one.result.lost;
}

/// A run that diverged comes last.
double for_order(const measured& one) {
    const double score = find_score(one).value_or(std::numeric_limits<double>::infinity());
    return std::isnan(score) ? std::numeric_limits<double>::infinity() : score;
}

}  // namespace

const measured* find_winner(const std::vector<measured>& trials) {
    if (std::any_of(trials.begin(), trials.end(), is_open)) return nullptr;
    const measured* best = nullptr;
    for (const auto& one : trials)
        if (find_score(one) && (!best || for_order(one) < for_order(*best))) best = &one;
    return best;
}

cell make_final(const tune_plan& plan, const cell& winner) {
    auto out = winner;
    out.id = final_id;
    out.trial = false;
    out.number = plan.trials.size();
    return out;
}

tune_report make_report(const tune_plan& plan, const tune_price& price, std::vector<measured> cells,
                        const std::string& command) {
    tune_report out{.trials = {}, .last = {}, .winner = {}, .price = price, .command = command};
    for (auto& one : cells) {
        if (one.where.id == final_id)
            out.last = std::move(one);
        else
            out.trials.push_back(std::move(one));
    }
    require(out.trials.size() == plan.trials.size(), "tune: another number of trials than planned");
    if (const auto* best = find_winner(out.trials)) out.winner = best->where.id;
    return out;
}

// Files.

namespace {

/// Of the page, or of a terminal.
struct medium {
    std::string (*text)(std::string_view);
    std::string (*number)(double);
};

std::string describe_score(const measured& one, const medium& on) {
    if (one.result.state != cell_state::done) return name_of(one.result.state);
    const auto& summary = *one.result.summary;
    if (!summary.perplexity_after) return on.text("–");
    const auto& in = summary.perplexity_after_in;
    return on.number(*summary.perplexity_after) +
           (in ? fmt::format(" ({} to {})", on.number(in->low), on.number(in->high)) : "");
}

std::vector<const measured*> list_runs(const tune_report& report) {
    std::vector<const measured*> out;
    for (const auto& one : report.trials) out.push_back(&one);
    if (report.last) out.push_back(&*report.last);
    return out;
}

const std::vector<std::string> run_columns = {"run", "setting", "held-out perplexity", ""};

std::vector<std::vector<std::string>> list_rows(const tune_report& report, const medium& on) {
    std::vector<std::vector<std::string>> out;
    for (const auto* one : list_runs(report))
        out.push_back({on.text(one->where.id), on.text(one->where.arm), describe_score(*one, on),
                       one->where.id == report.winner ? "chosen" : ""});
    return out;
}

std::vector<std::string> list_sentences(const tune_report& report) {
    return {
        describe(report.price) +
            ". That is for every unit of the data, whichever runs are looked at; other runs on "
            "these data come on top.",
        "A score is what the last look at held-out units released, with its noise: where it lies with 95 % stands "
        "beside it. Differences that are smaller say nothing, and the chosen trial's score looks better than it is. "
        "The final run's is its own."};
}

captioned draw_curves(const tune_report& report) {
    captioned out;
    out.drawing = {"curves", "Held-out perplexity", "step", "perplexity per token", {}, {}, {}, false};
    double last = 1;
    for (const auto* one : list_runs(report)) {
        curve points;
        for (const auto& line : one->result.metrics)
            if (line.eval_perplexity) points.emplace_back(static_cast<double>(line.step), *line.eval_perplexity);
        if (!points.empty()) last = std::max(last, points.back().first);
        const bool final = !one->where.trial, chosen = one->where.id == report.winner;
        out.drawing.lines.push_back({final    ? "final"
                                     : chosen ? "chosen: " + one->where.arm
                                              : "",
                                     final ? mark::marked_line : mark::marked_dashed,
                                     final    ? "#2f7ed8"
                                     : chosen ? "#d9822b"
                                              : "#8a93a0",
                                     points});
    }
    drop_empty(out.drawing.lines);
    out.drawing.x_range = {0, last};
    out.drawing.log_y = spans_decades(out.drawing.lines);
    out.caption = "Each look carries noise.";
    return out;
}

std::vector<measured> list_cells(const tune_report& report) {
    auto out = report.trials;
    if (report.last) out.push_back(*report.last);
    return out;
}

}  // namespace

std::string tune_json(const tune_report& report) {
    json out = {{"kind", "tune"},
                {"command", report.command},
                {"price", to_json(report.price)},
                {"winner", report.winner ? json(*report.winner) : json(nullptr)}};
    const auto setting = [](const cell& where) { return json{{"setting", where.arm}, {"values", where.at}}; };
    out["trials"] = to_json(report.trials, setting);
    out["final"] = report.last ? to_json(std::vector{*report.last}, setting).at(0) : json(nullptr);
    return to_text(out);
}

std::string tune_html(const tune_report& report) {
    return to_html(
        {.title = "A tuning, and what it cost",
         .subtitle = fmt::format("{} trials{}", report.trials.size(),
                                 report.last ? " and the final run" : ", which have not chosen yet"),
         .body = "<h2>What was tried</h2>\n" +
                 html_table("Held-out perplexity at the end, as the last look released it", run_columns,
                            list_rows(report, {escaped, readable}), 2) +
                 "<h2>Over the run</h2>\n" + figures({draw_curves(report)}, "Their data is in <code>tune.json</code>"),
         .sentences = list_sentences(report),
         .command = report.command},
        list_cells(report));
}

std::string tune_text(const tune_report& report) {
    auto rows = list_rows(report, {[](std::string_view text) { return std::string(text); },
                                   [](double value) { return fmt::format("{:.4g}", value); }});
    rows.insert(rows.begin(), run_columns);
    auto out = text_table(rows) + "\n";
    for (const auto& sentence : list_sentences(report)) out += sentence + "\n";
    return out;
}

experiment make_experiment(const tune_plan& plan, const tune_price& price) {
    const auto choose = [plan](const std::vector<measured>& trials) {
        const auto* best = find_winner(trials);
        if (!best && !trials.empty() && std::none_of(trials.begin(), trials.end(), is_open))
            refuse(
                "tune: no trial made its last look, so none has a score and nothing can be chosen; what they spent is "
                "spent, so tune anew with another --out and another budget");
        return best ? std::vector{make_final(plan, best->where)} : std::vector<cell>{};
    };
    return {.what = plan.what,
            .stages = {[plan](const auto&) { return plan.trials; }, choose},
            .report = [plan, price](std::vector<measured> cells, const std::string& command) -> report_files {
                auto csv = to_csv(cells, {{"setting", [](const measured& one) { return one.where.arm; }}});
                const auto report = make_report(plan, price, std::move(cells), command);
                return {tune_json(report), std::move(csv), tune_html(report), tune_text(report)};
            },
            .one_account = true};
}

}  // namespace rldp::eval
