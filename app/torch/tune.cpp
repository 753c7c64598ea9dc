// rldp tune: trials and a final run within one budget.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/grids/grid_command.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "config/config.hpp"
#include "eval/experiments/tune.hpp"
#include "models/weights.hpp"
#include "monitor/terminal/live_line.hpp"
#include "privacy/spending/account.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/memory.hpp"
#include "run/plan.hpp"

namespace rldp::app {

namespace {

struct tune_arguments : grid_options {
    std::vector<std::string> grid;
    std::optional<std::int64_t> trials;
    bool resume = false, dry_run = false;
};

config::run_config load_with(const tune_arguments& given, const std::vector<std::string>& overrides) {
    auto set = given.set;
    set.insert(set.end(), overrides.begin(), overrides.end());
    return eval::load_configuration(given.config, set);
}

/// All runs train the same modules: lora.targets that is open would be chosen by each of them, by the memory that it
/// finds. What a tuning that goes on began with stays. Nothing where it is given, tried, or not asked.
std::optional<std::string> choose_targets(const tune_arguments& given, const eval::tune_plan& plan,
                                          const std::filesystem::path& out) {
    const std::string key = "lora.targets";
    std::vector<config::reading_spec> all;
    for (const auto& one : plan.trials) all.push_back(config::to_reading_spec(load_with(given, one.overrides)));
    const auto is_settled = [](const auto& one) { return one.lora.targets || one.trains_base(); };
    if (std::any_of(all.begin(), all.end(), is_settled)) return {};
    const auto to_override = [&](const nlohmann::ordered_json& value) { return key + "=" + value.dump(); };
    if (const auto begun = given.resume ? eval::read_base(out) : std::nullopt) {
        const auto settled = eval::value_at(*begun, key);
        return settled.is_null() ? std::nullopt : std::optional(to_override(settled));
    }
    std::vector<std::string> chosen;
    for (const auto& one : all) {
        chosen = actors::choose_targets(one, models::read_model(one.model.path)).targets;
        if (chosen != std::vector<std::string>{"all-linear"}) break;  // what one has no room for, none takes
    }
    return to_override(chosen);
}

/// Of the first trial: for its N, and for what it refuses. Only where N is declared can a budget be
/// told without data. A tuning that was entered in its budget book goes on there.
actors::run_plan plan_first(const tune_arguments& given, const eval::tune_plan& plan,
                            const std::filesystem::path& out) {
    const auto config = load_with(given, plan.trials.front().overrides);
    if (given.dry_run && config.privacy.population) return actors::plan_without_reading(config);
    const bool enters = !given.dry_run && !std::filesystem::exists(privacy::locate_account(out));
    return actors::check(config, {.entered = enters ? std::optional(out) : std::nullopt,
                                  .tell = given.quiet ? on_loading{} : monitor::loading_line()});
}

/// Without reading, once N is known.
actors::run_plan plan_again(const tune_arguments& given, std::vector<std::string> overrides, std::int64_t population) {
    overrides.push_back(fmt::format("privacy.population={}", population));
    return actors::plan_without_reading(load_with(given, overrides));
}

/// Noise in bands wants another rate than independent noise, so a run whose rate is given has one band. Trials look for
/// the rate: noise.bands that is open is chosen as where the rate is, too. Nothing where it is given, or no rate is
/// tried. What a tuning that goes on began with stays.
std::optional<std::string> choose_bands(const tune_arguments& given, const eval::tune_plan& plan,
                                        std::int64_t population, const std::filesystem::path& out) {
    const std::string key = "noise.bands";
    const auto& axes = plan.what.axes;
    const auto tries = [&](const char* what) {
        return std::any_of(axes.begin(), axes.end(), [&](const auto& one) { return one.name == what; });
    };
    auto overrides = plan.trials.front().overrides;
    const auto config = load_with(given, overrides);
    if (!tries("train.lr") || tries("rl.state") || tries("train.optimizer") || config.noise.bands ||
        config.train.trains_base())
        return {};
    const auto to_override = [&](const nlohmann::ordered_json& value) { return key + "=" + value.dump(); };
    if (const auto begun = given.resume ? eval::read_base(out) : std::nullopt) {
        const auto settled = eval::value_at(*begun, key);
        return settled.is_null() ? std::nullopt : std::optional(to_override(settled));
    }
    overrides.emplace_back("train.lr=null");
    // Below whatever rate is chosen. It stays given, for that says who steers.
    if (config.train.final_lr > 0) overrides.emplace_back("train.final_lr=1e-12");
    return to_override(plan_again(given, overrides, population).bands);
}

/// What all runs of a tuning have the same, or one account could not pay for them.
bool same_price(const actors::run_plan& a, const actors::run_plan& b) {
    return a.committed == b.committed && a.looks == b.looks && a.sample_rate == b.sample_rate && a.steps == b.steps &&
           a.bands == b.bands && a.rounding_margin == b.rounding_margin;
}

eval::tune_price price_of(const tune_arguments& given, const eval::tune_plan& plan, std::int64_t population) {
    const auto again = [&](std::vector<std::string> overrides) {
        return plan_again(given, std::move(overrides), population);
    };
    const auto first = again(plan.trials.front().overrides);
    for (const auto& one : plan.trials)
        if (!same_price(again(one.overrides), first))
            refuse(
                fmt::format("{} ({}): has another price than {} ({}), and all runs of a tuning cost the same; try only "
                            "what leaves noise.policy, rl.interval and the plan as they are, or give those keys",
                            one.id, one.arm, plan.trials.front().id, plan.trials.front().arm));
    auto alone = plan.trials.front().overrides;
    alone.emplace_back("privacy.runs=1");
    const auto single = again(alone);
    return {.runs = plan.runs(),
            .bands = first.bands,
            .epsilon_guaranteed = first.epsilon_guaranteed,
            .delta = first.delta,
            .noise_multiplier = first.noise_multiplier,
            .alone = single.noise_multiplier,
            .look_noise_multiplier = first.looks.noise_multiplier,
            .look_alone = single.looks.noise_multiplier,
            .epsilon_of_one = actors::compute_epsilon_of_one(load_with(given, plan.trials.front().overrides), first)};
}

void check_place(const tune_arguments& given, const std::filesystem::path& out) {
    const bool there = std::filesystem::exists(out);
    if (there && !given.resume)
        refuse(out.string() + ": exists already; go on with it by --resume, or choose another --out");
    if (!there && given.resume) refuse(out.string() + ": holds no tuning to go on with; leave --resume out");
}

std::vector<std::string> list_command(const tune_arguments& given, const eval::tune_plan& plan) {
    std::vector<std::string> out = {"tune", given.config};
    for (const auto& text : given.grid) out.insert(out.end(), {"--grid", text});
    out.insert(out.end(), {"--trials", std::to_string(plan.trials.size()), "--resume"});
    return out;
}

void tell(const eval::tune_plan& plan, const eval::tune_price& price, bool as_json) {
    if (as_json) {
        auto out = eval::to_json(price);
        for (const auto& one : plan.trials) out["trials"].push_back({{"run", one.id}, {"setting", one.arm}});
        say_text(eval::to_text(out));
        return;
    }
    for (const auto& one : plan.trials) say("{}  {}\n", one.id, one.arm);
    say("{}\n", eval::describe(price));
}

int run(tune_arguments given) {
    const auto plan_all = [&] {
        return eval::plan_tune(given.grid, given.trials, eval::make_resolver(given.config, given.set));
    };
    auto plan = plan_all();
    const auto out = find_directory(given, given.config, plan.what.kind);
    if (!given.dry_run) check_place(given, out);
    if (const auto targets = choose_targets(given, plan, out)) {
        given.set.push_back(*targets);
        plan = plan_all();
    }
    const auto population = plan_first(given, plan, out).population;
    if (const auto bands = choose_bands(given, plan, population, out)) {
        given.set.push_back(*bands);
        plan = plan_all();
    }
    const auto price = price_of(given, plan, population);
    if (given.dry_run) {
        tell(plan, price, given.json);
        return 0;
    }
    if (!given.quiet) say(stderr, "{}\n", eval::describe(price));
    return run_experiment(given, eval::make_experiment(plan, price), out, list_command(given, plan));
}

}  // namespace

void add_tune(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "tune");
    auto given = std::make_shared<tune_arguments>();
    command->add_option("--grid", given->grid, "a key and its values: dotted.key=v1,v2, repeatable")
        ->required()
        ->allow_extra_args(false);
    command->add_option("--trials", given->trials,
                        "K: how many settings are tried, drawn by the seed where the grid has more (default: all)");
    add_base_options(*command, *given);
    add_running_options(*command, *given);
    command->add_flag("--resume", given->resume,
                      "go on with the tuning in --out: what is done stays, and what was cut");
    command->add_flag("--dry-run", given->dry_run, "tell what the trials leave of the noise, and run nothing");
    command->footer(
        fmt::format("Example: rldp tune config/demo.json --grid train.lr=0.005,0.01,0.02 --out runs/tuned\n"
                    "K trials and a final run with the best one's setting share privacy.epsilon and privacy.delta.\n"
                    "Can be tried: {}\n"
                    "Exit status: 0 all runs done, 1 a run failed, 2 bad input, 130 interrupted (go on with --resume)",
                    fmt::join(eval::list_tunable_keys(), ", ")));
    command->callback([given, &chosen] { chosen = [given] { return run(*given); }; });
}

}  // namespace rldp::app
