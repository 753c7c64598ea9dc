#include <fmt/format.h>

#include <cmath>

#include "actors/plan.hpp"
#include "app/commands.hpp"
#include "config/config.hpp"
#include "privacy/accountant.hpp"

namespace rldp::app {

namespace {

struct options {
    std::string config;
    std::vector<std::string> set;
    bool json = false;
};

void print(const actors::run_plan& plan) {
    const auto row = [](const std::string& name, const std::string& value) { fmt::print("  {:<26}{}\n", name, value); };
    row("training units", fmt::format("{} (population N = {})", plan.units, plan.population));
    if (plan.records > 0)
        row("training records",
            fmt::format("{}, {} of them cut to {} tokens", plan.records, plan.records_cut, plan.max_tokens));
    if (plan.canaries > 0) row("canaries planted", fmt::format("{}", plan.canaries));
    row("sample rate", fmt::format("{:.6g}", plan.sample_rate));
    row("steps", fmt::format("{}", plan.steps));
    row("noise multiplier z_0", fmt::format("{:.6f}", plan.noise_multiplier));
    row("guaranteed ε",
        fmt::format("{:.4f} of {:g} at δ = {:g}", plan.guaranteed_epsilon, plan.epsilon_budget, plan.delta));
    for (const auto& [name, value] : plan.epsilon)
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
    row("clip groups", fmt::format("{}", plan.groups.size()));
    row("trainable parameters", fmt::format("{}", plan.trainable_parameters));
    row("memory, estimated", fmt::format("{:.0f} MiB", static_cast<double>(plan.memory_bytes) / (1 << 20)));
    for (const auto& warning : plan.warnings) fmt::print("warning: {}\n", warning);
}

}  // namespace

void add_check(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand("check", "Validate a configuration and print the plan; trains nothing");
    auto given = std::make_shared<options>();
    command->add_option("config", given->config, "configuration file (JSON)")->required();
    command->add_option("--set", given->set, "override a key: dotted.key=json, repeatable")->allow_extra_args(false);
    command->add_flag("--json", given->json, "print the plan as JSON");
    command->footer("Example: rldp check config/demo.json --set privacy.epsilon=2 --json");
    command->callback([given, &chosen] {
        chosen = [given] {
            const auto plan = actors::check(config::load(given->config, given->set));
            if (given->json)
                fmt::print("{}\n", actors::to_json(plan));
            else
                print(plan);
            return 0;
        };
    });
}

}  // namespace rldp::app
