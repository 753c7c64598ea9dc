#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "app/commands.hpp"
#include "app/torch/plan.hpp"
#include "base/output.hpp"
#include "base/system.hpp"
#include "config/spec.hpp"
#include "models/weight_files.hpp"
#include "monitor/terminal/live_line.hpp"
#include "privacy/accounting/accountant.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/first/first_config.hpp"
#include "run/plan.hpp"

namespace rldp::app {

namespace {

std::string described(const actors::memory_need& need, const actors::memory_room& room) {
    const auto mebibytes = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    return fmt::format(
        "{:.0f} MiB of {}'s {:.0f}, where records are as long as they may be: weights {:.0f}, activations "
        "{:.0f}, logits and the like {:.0f}, adapter {:.0f}, records {:.0f}, program {:.0f}",
        mebibytes(need.total()), room.owner, mebibytes(room.bytes), mebibytes(need.weights),
        mebibytes(need.activations), mebibytes(need.passing), mebibytes(need.adapter), mebibytes(need.records),
        mebibytes(need.program));
}

struct check_arguments {
    std::string config;
    std::vector<std::string> set;
    bool json = false, private_counts = false, without_data = false;
};

void row(const std::string& name, const std::string& value) {
    say("  {:<26}{}\n", name, value);
}

/// For the owner's eyes.
void print_counts(const actors::run_plan& plan) {
    const auto& there = *plan.counts;
    const bool beyond = plan.padded && there.units > plan.population;
    row("PRIVATE: training units",
        fmt::format("{}{}", there.units, beyond ? ": more than N, for which padding makes room" : ""));
    row("PRIVATE: training records",
        fmt::format("{}, {} of them cut to {} tokens", there.records, there.cut, plan.max_tokens));
    row("PRIVATE: canaries planted", fmt::format("{}", there.canaries));
    // A run can't say so: its refusal would tell how many there are.
    const auto times = static_cast<double>(there.units) / static_cast<double>(plan.population);
    if (times > 1.5 || times < 1 / 1.5)
        say("warning: PRIVATE: {} units train, and privacy.population says {}, so a step draws some {:.0f} units and "
            "not "
            "{:.0f}; privacy.population {} would fit\n",
            there.units, plan.population, plan.sample_rate * static_cast<double>(there.units),
            plan.sample_rate * static_cast<double>(plan.population), actors::rounded_population(there.units));
}

void print(const actors::run_plan& plan, const actors::memory_room& room, bool timed,
           const std::optional<actors::plan_time>& time, bool counts) {
    row("population N", fmt::format("{} units", plan.population));
    if (counts && plan.counts) print_counts(plan);
    row("tokens per record", fmt::format("{} at most", plan.max_tokens));
    row("records per unit", fmt::format("{} at most", plan.max_records_per_unit));
    row("sample rate", fmt::format("{:.6g}", plan.sample_rate));
    row("steps", fmt::format("{}", plan.steps));
    if (plan.runs > 1) row("runs", fmt::format("{}, that all of this is for together", plan.runs));
    if (plan.bands > 1) {
        const auto rounds = privacy::to_rounds(plan.bands, plan.noise_multiplier, plan.sample_rate, plan.steps);
        row("noise in bands",
            fmt::format("{}: {} rounds at sample rate {:.6g}", plan.bands, rounds.steps, rounds.sample_rate));
    }
    row("noise multiplier z_0", fmt::format("{:.6f}", plan.noise_multiplier));
    row("guaranteed ε",
        fmt::format("{:.4f} of {:g} at δ = {:g}", plan.epsilon_guaranteed, plan.epsilon_budget, plan.delta));
    for (const auto& [name, value] : plan.epsilon_committed)
        row("  planned, " + name,
            fmt::format(
                "{:.4f}{}", value,
                privacy::make_accountant(name)->is_upper_bound() ? "" : "  (an approximation that can under-report)"));
    if (plan.published) {
        row("  planned, as printed",
            fmt::format("{:.4f}  (the publication's; no bound)", plan.published->printed_formula));
        row("  tight, as released", fmt::format("{:.4f}  (noise σ·C per adapter; raw observations void even that)",
                                                plan.published->tight_as_released));
    }
    if (plan.looks.count > 0)
        row("looks at held-out units",
            fmt::format("{} at about {:.0f} units, noise multiplier {:.4f}: ±{:.2g} nats per token each, at 95 %",
                        plan.looks.count, plan.looked_at, plan.looks.noise_multiplier, plan.look_within));
    row("clip groups", fmt::format("{}", plan.groups.size()));
    row("trainable parameters", fmt::format("{}", plan.trainable_parameters));
    row("rounding margin η", fmt::format("{:g} of every sensitivity", plan.rounding_margin));
    if (plan.padded)
        row("padded to",
            fmt::format("{} units of {} records of {} tokens at every step; larger draws take {:.1e} of δ",
                        plan.padded->units, plan.padded->shape.records, plan.padded->shape.tokens, plan.padded->delta));
    row("memory, estimated", described(plan.memory, room));
    if (plan.least_ranks)
        row("ranks", fmt::format("{} at least, each with such memory, between which the base is shared (model.shard)",
                                 *plan.least_ranks));
    if (timed) print_time(time, row);
    for (const auto& sentence : plan.controller) row("controller", sentence);
    for (const auto& one : plan.choices) row(one.key, fmt::format("{}  ({})", one.value, one.reason));
    for (const auto& warning : plan.warnings) say("warning: {}\n", warning);
}

}  // namespace

void add_check(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "check");
    auto given = std::make_shared<check_arguments>();
    command->add_option("config", given->config, "configuration file (JSON)")->required();
    command->add_option("--set", given->set, "override a key: dotted.key=json, repeatable")->allow_extra_args(false);
    command->add_flag("--json", given->json, "print the plan as JSON");
    command->add_flag("--private-counts", given->private_counts,
                      "also exact numbers of units and records: private, not to be passed on");
    command->add_flag("--without-data", given->without_data, "plan from privacy.population; the data may lie elsewhere")
        ->excludes("--private-counts");
    command->footer("Example: rldp check config/demo.json --set privacy.epsilon=2 --json");
    command->callback([given, &chosen] {
        chosen = [given] {
            const auto config = eval::load_configuration(given->config, given->set);
            const auto plan =
                actors::check(config, {.without_data = given->without_data, .tell = monitor::loading_line()});
            if (given->json) {
                say_text(actors::to_json(plan, given->private_counts) + "\n");
                return 0;
            }
            const bool timed = models::has_weights(config.model.path);
            const auto time = timed ? actors::estimate_time(config, plan) : std::nullopt;
            print(plan, actors::find_room(config::to_reading_spec(config)), timed, time, given->private_counts);
            return 0;
        };
    });
}

}  // namespace rldp::app
