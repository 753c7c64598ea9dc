#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>

#include "app/commands.hpp"
#include "app/torch/plan.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "base/system.hpp"
#include "config/config.hpp"
#include "config/open_keys.hpp"
#include "models/weights.hpp"
#include "run/artifacts/formatting.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/first/proposals.hpp"
#include "run/inputs.hpp"
#include "run/resolve.hpp"

namespace rldp::app {

namespace {

std::string format_override(const char* key, const std::optional<std::int64_t>& value) {
    return value ? fmt::format(" --set {}={}", key, *value) : "";
}

}  // namespace

std::string format_settings(const actors::proposal& one) {
    return fmt::format("--set train.expected_batch_size={} --set train.steps={}{}{}", one.expected_batch_size,
                       one.steps, format_override("train.warmup", one.warmup),
                       format_override("train.decay", one.decay));
}

void print_time(const std::optional<actors::plan_time>& found,
                const std::function<void(const std::string& name, const std::string& value)>& row) {
    if (!found) {
        row("time here", "not measured: a process may not hold the whole base, which ranks share (model.shard)");
        return;
    }
    row("time here, at most",
        fmt::format("about {}: {} for a unit of {} of {} tokens, some {:.0f} units a step", time_text(found->seconds),
                    time_text(found->seconds_per_unit),
                    found->largest.records == 1 ? "one record" : fmt::format("{} records", found->largest.records),
                    found->largest.tokens, found->units));
    if (found->usual_seconds)
        row("PRIVATE: time here",
            fmt::format("about {}, for units such as those looked at", time_text(*found->usual_seconds)));
    if (found->of_an_hour)
        row("in an hour",
            format_settings(*found->of_an_hour) +
                (found->of_an_hour->steps < config::least_steps ? "  (too few steps to learn much)" : ""));
    else if (found->seconds > actors::an_hour)
        row("in an hour", "no plan; take a smaller model, a smaller data.max_tokens or a GPU");
}

// rldp plan: how a budget of examples or minutes is best divided into steps.

namespace {

struct plan_arguments {
    std::string config;
    std::vector<std::string> set;
    std::int64_t examples = 0;
    double minutes = 0;
    bool json = false, without_data = false;
};

std::int64_t find_population(const config::run_config& config) {
    return config.privacy.population ? *config.privacy.population : actors::check(config).population;
}

/// What the configuration itself draws, unless a budget is given.
std::vector<actors::proposal> make_proposals(const plan_arguments& given, const config::run_config& config,
                                             std::int64_t population, const std::optional<double>& seconds) {
    if (given.examples > 0) return actors::proposals(config, population, given.examples);
    if (given.minutes > 0 && !seconds)
        refuse(
            "--minutes: a process here may not hold the whole base, which ranks share (model.shard), so nothing is "
            "timed; give --examples");
    if (given.minutes > 0)
        return actors::proposals(config, population,
                                 static_cast<std::int64_t>(std::floor(given.minutes * 60 / *seconds)),
                                 actors::counted::computed);
    const auto own = actors::resolve(config, population, models::read_model(config.model.path)).train;
    return actors::proposals(config, population, own.expected_batch_size * own.steps);
}

template <class Number>
nlohmann::ordered_json to_json_value(const std::optional<Number>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

void print_table(const std::vector<actors::proposal>& all, const actors::proposal& best,
                 const std::optional<double>& seconds) {
    std::vector<std::vector<std::string>> rows{
        {"expected batch", "steps", "bands", "noise multiplier", "noise / batch", "minutes, at most", ""}};
    for (const auto& one : all) {
        const auto units = static_cast<double>(one.computed * one.steps);
        rows.push_back(
            {fmt::format("{}", one.expected_batch_size), fmt::format("{}", one.steps), fmt::format("{}", one.bands),
             fmt::format("{:.4f}", one.noise_multiplier), fmt::format("{:.6f}", one.noise_per_unit),
             seconds ? fmt::format("{:.1f}", units * *seconds / 60) : "–", &one == &best ? "<- proposed" : ""});
    }
    say_text(eval::text_table(rows));
    say("\n{} To take it:\n  {}\n",
        best.steps >= config::least_steps
            ? fmt::format("The largest batch that leaves {} steps has the least noise for the same work.",
                          config::least_steps)
            : fmt::format(
                  "No batch leaves {} steps, below which steps and not noise are short: a larger budget is better "
                  "than any of these.",
                  config::least_steps),
        format_settings(best));
}

void print_json(const std::vector<actors::proposal>& all, const actors::proposal& best,
                const std::optional<double>& seconds) {
    auto plans = nlohmann::ordered_json::array();
    for (const auto& one : all)
        plans.push_back({{"expected_batch_size", one.expected_batch_size},
                         {"steps", one.steps},
                         {"warmup", to_json_value(one.warmup)},
                         {"decay", to_json_value(one.decay)},
                         {"bands", one.bands},
                         {"noise_multiplier", one.noise_multiplier},
                         {"noise_per_unit", one.noise_per_unit},
                         {"proposed", &one == &best}});
    say("{}\n", nlohmann::ordered_json{{"seconds_per_unit", to_json_value(seconds)}, {"plans", plans}}.dump());
}

int plan(const plan_arguments& given) {
    const auto config = eval::load_configuration(given.config, given.set);
    actors::check_sources(config::to_reading_spec(config), given.without_data);
    const auto population = find_population(config);
    const auto seconds = actors::seconds_per_unit(config, population);
    const auto all = make_proposals(given, config, population, seconds);
    (given.json ? print_json : print_table)(all, actors::choose_best(all), seconds);
    return 0;
}

}  // namespace

void add_plan(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "plan");
    auto given = std::make_shared<plan_arguments>();
    command->add_option("config", given->config, "configuration file (JSON)")->required();
    auto* examples = command->add_option("--examples", given->examples, "budget: units drawn in all, B times steps")
                         ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
    command->add_option("--minutes", given->minutes, "budget: minutes of gradients on this machine")
        ->check(CLI::Range(0.01, 1e6))
        ->excludes(examples);
    command->add_option("--set", given->set, "override a key: dotted.key=json, repeatable")->allow_extra_args(false);
    command->add_flag("--json", given->json, "print the plans as JSON");
    command->add_flag("--without-data", given->without_data,
                      "plan from privacy.population; the data may lie elsewhere");
    command->footer(
        "Without a budget: as many examples as the configuration's own plan.\n"
        "Example: rldp plan config/demo.json --minutes 10");
    command->callback([given, &chosen] { chosen = [given] { return plan(*given); }; });
}

}  // namespace rldp::app
