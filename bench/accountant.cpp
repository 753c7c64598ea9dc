// How long accounting takes, on one core: calibration, a heterogeneous list, progress, and a policy's start. Prints
// JSON; with
// --golden FILE a Markdown table of our accountants beside other engines' figures instead.
//
//   build/bench/bench_accountant --repeats 5
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/accounting/pld/pld.hpp"
#include "privacy/spending/policy.hpp"

namespace {

using namespace rldp::privacy;
using json = nlohmann::ordered_json;

constexpr double rate = 64.0 / 73'271, delta = 1e-5;
constexpr std::int64_t steps = 26'880;

/// Median, least and most seconds over `repeats` calls.
template <class Work>
json seconds(int repeats, Work work) {
    std::vector<double> spans;
    for (int i = 0; i < repeats; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        spans.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(spans.begin(), spans.end());
    return {{"median_s", spans[spans.size() / 2]}, {"least_s", spans.front()}, {"most_s", spans.back()}};
}

/// `levels` different multipliers within a factor of 4, equal shares of the steps.
std::vector<phase> mixed(int levels) {
    std::vector<phase> out;
    for (int i = 0; i < levels; ++i) out.push_back({0.6 * std::pow(4.0, i / (levels - 1.0)), rate, steps / levels});
    return out;
}

json measure(int repeats) {
    const phase plan{1, rate, steps};
    const auto list = mixed(240);
    const auto pld = make_accountant("pld"), rdp = make_accountant("rdp"), progress = make_pld(1e-2);
    calibration found{};
    double epsilon = 0, coarse = 0;
    json out{{"sample_rate", rate}, {"steps", steps}, {"delta", delta}};
    out["calibrate_pld"] = seconds(repeats, [&] { found = calibrate(*pld, {&plan, 1}, 2, delta); });
    out["calibrate_pld"]["noise_multiplier"] = found.noise_multiplier;
    out["calibrate_rdp"] = seconds(repeats, [&] { found = calibrate(*rdp, {&plan, 1}, 2, delta); });
    out["calibrate_rdp"]["noise_multiplier"] = found.noise_multiplier;
    out["pld_240_levels"] = seconds(repeats, [&] { epsilon = pld->epsilon(list, delta); });
    out["pld_240_levels"]["epsilon"] = epsilon;
    out["progress_240_levels"] = seconds(repeats, [&] { coarse = progress->epsilon(list, delta); });
    out["progress_240_levels"]["epsilon"] = coarse;
    out["rdp_240_levels"] = seconds(repeats, [&] { epsilon = rdp->epsilon(list, delta); });
    out["rdp_240_levels"]["epsilon"] = epsilon;
    for (const auto kind : {rldp::policy_kind::fixed, rldp::policy_kind::deck, rldp::policy_kind::filter})
        out[fmt::format("policy_{}", rldp::name_of(kind))] = seconds(repeats, [&] {
            make_policy(kind, {.epsilon_budget = 2,
                               .delta = delta,
                               .sample_rate = rate,
                               .steps = steps,
                               .interval = 112,
                               .accountant = "pld",
                               .deck_levels = 8,
                               .deck_ratio = 4});
        });
    return out;
}

std::string describe(const json& composition) {
    std::string out;
    for (const auto& r : composition) {
        if (composition.size() > 3) return fmt::format("{} runs", composition.size());
        out += fmt::format("{}({:.6g}, {:.4g}, {})", out.empty() ? "" : " + ", r.at("noise_multiplier").get<double>(),
                           r.at("sample_rate").get<double>(), r.at("steps").get<std::int64_t>());
    }
    return out;
}

void golden_table(const std::string& file) {
    fmt::print(
        "| runs (z, q, steps) | δ | pld | dp_accounting pld | Microsoft prv, low to high | rdp | dp_accounting rdp | "
        "gdp_clt | Opacus gdp |\n");
    fmt::print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (const auto& golden : json::parse(rldp::read_file(file))) {
        std::vector<phase> phases;
        for (const auto& r : golden.at("composition"))
            phases.push_back({r.at("noise_multiplier"), r.at("sample_rate"), r.at("steps")});
        const double at = golden.at("delta");
        const auto ours = [&](const char* name) { return make_accountant(name)->epsilon(phases, at); };
        const auto theirs = [&](const char* key) {
            return golden.contains(key) && golden.at(key).is_number()
                       ? fmt::format("{:.5f}", golden.at(key).get<double>())
                       : "–";
        };
        const auto& prv = golden.at("prv_epsilon_microsoft");
        fmt::print("| {} | {:g} | {:.5f} | {} | {:.5f} to {:.5f} | {:.5f} | {} | {:.5f} | {} |\n",
                   describe(golden.at("composition")), at, ours("pld"), theirs("pld_epsilon_dp_accounting"),
                   prv.at(0).get<double>(), prv.at(2).get<double>(), ours("rdp"), theirs("rdp_epsilon_dp_accounting"),
                   ours("gdp_clt"), theirs("gdp_clt_epsilon_opacus"));
    }
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App program("Seconds that accounting takes, as JSON");
    int repeats = 5;
    std::string golden;
    program.add_option("--repeats", repeats, "calls of each kind")->check(CLI::Range(1, 1000))->capture_default_str();
    program.add_option("--golden", golden, "print a table against this file of other engines' figures instead")
        ->check(CLI::ExistingFile);
    CLI11_PARSE(program, argc, argv);
    if (golden.empty())
        fmt::print("{}\n", measure(repeats).dump(2));
    else
        golden_table(golden);
}
