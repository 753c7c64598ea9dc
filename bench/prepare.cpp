// What preparing a controller on noisy quadratics wins on held-out families: hindsight, rule and policy against the
// best schedule of equal search, in log excess loss (negative is better).
//
//   build/bench/bench_prepare --offset 1 4 16 --held-out few-steep-warm many-flat-cold
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "rl/research/preparation.hpp"

namespace {

using namespace rldp;

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void show(const std::string& who, const rl::paired& found) {
    fmt::print("  {:<20} {:>8.4f} ± {:.4f}, better on {:3.0f} % of tasks\n", who, found.mean, found.standard_error,
               100 * found.wins);
}

void measure(const rl::preparation_config& config, const std::string& out) {
    const auto begin = std::chrono::steady_clock::now();
    const auto found = rl::train_policy(
        config, [&](const std::string& stage) { fmt::print(stderr, "{:7.1f} s  {}\n", seconds_since(begin), stage); });
    const auto& parts = found.policy.parts();
    fmt::print("rates off by up to ×{:g} ({:.0f} s)\n", config.offset, seconds_since(begin));
    fmt::print("  schedule: {:.2f}; residual after {} rounds\n", fmt::join(parts.best_fixed.numbers, " "),
               nlohmann::json::parse(parts.figures).at("residual_rounds").get<std::size_t>());
    fmt::print("  rule: schedule {:.2f}; {:.3f}\n", fmt::join(parts.fixed.numbers, " "),
               fmt::join(parts.how.numbers, " "));
    show("hindsight", found.gate.hindsight);
    show("timetable", found.gate.by_clock);
    show("rule", found.gate.rule);
    show("policy", found.gate.policy);
    show("policy − timetable", found.gate.feedback);
    show("policy, shuffled", found.gate.shuffled);
    fmt::print("  gate: {}\n", found.gate.passed() ? "passed" : "not passed");
    std::fflush(stdout);
    if (!out.empty()) found.policy.save(fmt::format("{}-{:g}.safetensors", out, config.offset));
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App program("What a controller that was prepared on made-up tasks wins on held-out families");
    std::vector<double> offsets = {1, 4, 16};
    std::string out;
    rl::preparation_config config;
    config.held_out = {"few-steep-warm", "many-flat-cold"};
    program.add_option("--offset", offsets, "factors by which rates are off, at most")->capture_default_str();
    program.add_option("--held-out", config.held_out, "families, or traits of theirs")->capture_default_str();
    program.add_flag_callback(
        "--ppo", [&config] { config.refinement.learner = rl::residual_ppo_config{}; },
        "PPO in place of SAC, from as many episodes");
    program.add_option("--tasks", config.tasks, "tasks to prepare on")->capture_default_str();
    program.add_option("--gate-tasks", config.gate_tasks, "held-out tasks")->capture_default_str();
    program.add_option("--generations", config.search.generations, "of a search")->capture_default_str();
    program.add_option("--rounds", config.refinement.rounds, "of the residual's learning")->capture_default_str();
    program.add_option("--seed", config.seed, "of tasks and noise")->capture_default_str();
    program.add_option("--jobs", config.jobs, "threads")->check(CLI::Range(1, 64))->capture_default_str();
    program.add_option("--out", out, "where policies go: OUT-OFFSET.safetensors");
    CLI11_PARSE(program, argc, argv);
    try {
        for (const double offset : offsets) {
            config.offset = offset;
            measure(config, out);
        }
        return 0;
    } catch (const error& e) {
        fmt::print(stderr, "bench: {}\n", e.what());
        return static_cast<int>(e.code());
    }
}
