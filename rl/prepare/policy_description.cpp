#include "rl/prepare/policy_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace rldp::rl {
namespace {

using nlohmann::json;

std::string names_in(const json& figures, const char* key) {
    return fmt::format("{}", fmt::join(figures.at(key).get<std::vector<std::string>>(), ", "));
}

// Differences of log losses, as ratios.
std::string gain(const char* loss, const json& found, const char* than) {
    const double mean = found.at("mean"), error = found.at("standard_error"), wins = found.at("wins");
    const double sign = mean < 0 ? -1 : 1;
    const auto percent = [&](double log_ratio) { return sign * 100 * std::expm1(log_ratio); };
    const auto [least, most] = std::minmax({percent(mean - 1.96 * error), percent(mean + 1.96 * error)});
    return fmt::format(
        "on held-out families its {} was {:.1f} % {} than under {} (95 % of such comparisons: "
        "{:.1f} to {:.1f} %), lower on {:.0f} % of tasks",
        loss, percent(mean), mean < 0 ? "lower" : "higher", than, least, most, 100 * wins);
}

}  // namespace

std::vector<std::string> describe_policy(const prepared_policy& of) {
    const auto& parts = of.parts();
    std::vector<std::string> out = {fmt::format("policy {:.12}…, {}", of.digest(),
                                                parts.passed ? "which passed its gate and steers"
                                                             : "which did not pass its gate: the best fixed schedule "
                                                               "of its preparation is used in its place")};
    if (const auto signer = of.signer()) out.push_back("signed by key " + signer->fingerprint());
    const auto figures = json::parse(parts.figures);
    try {
        const bool on_runs = figures.at("tasks") == "runs";
        out.push_back(fmt::format("prepared on {}: {} (seed {})",
                                  on_runs
                                      ? "noisy quadratics, stacks of small layers, then short runs on made-up tables"
                                      : "made-up tasks, which are no language models",
                                  names_in(figures, "families"), figures.at("seed").get<std::uint64_t>()));
        out.push_back("held out from its preparation: " + names_in(figures, "held_out"));
        const auto* loss = on_runs ? "held-out loss per token" : "excess loss";
        out.push_back(gain(loss, figures.at("gate").at("policy"), "the best fixed schedule of equal search"));
        out.push_back(
            gain(loss, figures.at("gate").at("feedback"), "the best timetable of equal search, which sees no run"));
        if (const auto asked = figures.value("gates_asked", 1); asked > 1)
            out.push_back(fmt::format("its gate was asked {} times; this is the last answer", asked));
    } catch (const json::exception&) {
        out.emplace_back("its file tells no more of its preparation");
    }
    return out;
}

std::vector<std::string> list_warnings(const prepared_policy& of, std::int64_t steps) {
    std::vector<std::string> out;
    const auto figures = json::parse(of.parts().figures);
    if (of.parts().passed && !(figures.contains("tasks") && figures["tasks"] == "runs"))
        out.emplace_back(
            "rl.controller: its gate knows no language models; some have diverged under a policy that kept its promise "
            "on other tasks (docs/experiments.md)");
    if (!figures.contains("blocks") || !figures["blocks"].is_array() || figures["blocks"].size() != 2) return out;
    for (const auto& bound : figures["blocks"])
        if (!bound.is_number_integer()) return out;
    const auto least = figures["blocks"][0].get<std::int64_t>(), most = figures["blocks"][1].get<std::int64_t>();
    const auto blocks = steps / of.parts().interval;
    if (blocks < least || blocks > most)
        out.push_back(fmt::format(
            "rl.controller: this run has {} blocks of {} steps, the policy was prepared on {} to {}; what it "
            "won there says nothing of runs of other lengths",
            blocks, of.parts().interval, least, most));
    return out;
}

}  // namespace rldp::rl
