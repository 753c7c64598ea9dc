// rldp tune: trials and a final run within one budget.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/commands.hpp"
#include "app/grids/grid_command.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "config/config.hpp"
#include "eval/experiments/tune.hpp"
#include "monitor/terminal/live_line.hpp"
#include "privacy/accounting/accountant.hpp"
#include "run/artifacts/run_directory.hpp"
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

/// Of the first trial: for its N, and for what it refuses. Only where N is declared can a budget be told without data.
actors::run_plan plan_first(const tune_arguments& given, const eval::tune_plan& plan) {
    const auto config = load_with(given, plan.trials.front().overrides);
    if (given.dry_run && config.privacy.population) return actors::plan_without_reading(config);
    return actors::check(config, {.tell = given.quiet ? on_loading{} : monitor::loading_line()});
}

/// What all runs of a tuning have the same, or one account could not pay for them.
bool same_price(const actors::run_plan& a, const actors::run_plan& b) {
    return a.committed == b.committed && a.looks == b.looks && a.sample_rate == b.sample_rate && a.steps == b.steps &&
           a.bands == b.bands && a.rounding_margin == b.rounding_margin;
}

double price_one(const config::run_config& config, const actors::run_plan& plan) {
    auto phases = plan.committed;
    for (auto& each : phases) each.steps /= plan.runs;
    const double padding = plan.padded ? plan.padded->delta : 0;
    return privacy::make_accountant(config.privacy.accountant)->epsilon(phases, plan.delta - padding);
}

eval::tune_price price_of(const tune_arguments& given, const eval::tune_plan& plan) {
    const auto first = plan_first(given, plan);
    const auto again = [&](std::vector<std::string> overrides) {
        overrides.push_back(fmt::format("privacy.population={}", first.population));
        return actors::plan_without_reading(load_with(given, overrides));
    };
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
            .epsilon_guaranteed = first.epsilon_guaranteed,
            .delta = first.delta,
            .noise_multiplier = first.noise_multiplier,
            .alone = single.noise_multiplier,
            .look_noise_multiplier = first.looks.noise_multiplier,
            .look_alone = single.looks.noise_multiplier,
            .epsilon_of_one = price_one(load_with(given, plan.trials.front().overrides), first)};
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

int run(const tune_arguments& given) {
    const auto plan = eval::plan_tune(given.grid, given.trials, eval::make_resolver(given.config, given.set));
    const auto out = find_directory(given, given.config, plan.what.kind);
    if (!given.dry_run) check_place(given, out);
    const auto price = price_of(given, plan);
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
