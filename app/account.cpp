// rldp account: what a list of phases (steps of one noise multiplier and sample rate), or a ledger, costs under every
// accountant. Needs no data and no model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/bands.hpp"
#include "app/commands.hpp"
#include "app/words.hpp"
#include "base/error.hpp"
#include "base/kinds.hpp"
#include "base/output.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/spending/risk_statement.hpp"
#include "privacy/spending/verify.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::app {

namespace {

using eval::json_number;
using json = nlohmann::ordered_json;

struct account_arguments {
    std::vector<std::string> phases;
    std::string delta, ledger;
    std::vector<std::string> epsilons;
    bands_arguments banded;
    bool json = false, risk = false;
};

privacy::phase parse_phase(const std::string& text) {
    const auto parts = CLI::detail::split(text, ',');
    if (parts.size() != 3)
        refuse(fmt::format("--phase \"{}\": write noise multiplier, sample rate and steps as z,q,steps", text));
    return {parse_number("--phase: noise multiplier", parts[0]), parse_number("--phase: sample rate", parts[1]),
            parse_count("--phase: steps", parts[2])};
}

std::string_view bound(const privacy::accountant& by) {
    return by.is_upper_bound() ? "upper bound" : "no bound: an approximation that can under-report";
}

json prices(std::span<const privacy::phase> phases, double delta) {
    json out = json::object();
    for (const auto& name : all_names<accountant_kind>()) {
        const auto by = privacy::make_accountant(name);
        out[name] = {{"epsilon", json_number(by->epsilon(phases, delta))}, {"is_upper_bound", by->is_upper_bound()}};
    }
    return out;
}

void print_prices(const json& all, int indent) {
    for (const auto& name : all_names<accountant_kind>())
        say("{:{}}{:<9}ε = {:<11} {}\n", "", indent, name, show(eval::number_from(all.at(name).at("epsilon"))),
            bound(*privacy::make_accountant(name)));
}

/// δ at each ε: points of the privacy curve.
json curve(std::span<const privacy::phase> phases, const std::vector<std::string>& epsilons) {
    json points = json::array();
    for (const auto& text : epsilons) {
        const double epsilon = parse_number("--epsilon", text);
        json point{{"epsilon", epsilon}};
        for (const auto& name : all_names<accountant_kind>()) {
            const auto by = privacy::make_accountant(name);
            point[name] = {{"delta", by->delta(phases, epsilon)}, {"is_upper_bound", by->is_upper_bound()}};
        }
        points.push_back(std::move(point));
    }
    return points;
}

/// The least number of so many digits that is no less: bounds are told so.
double round_up(double value, int digits) {
    if (value <= 0) return 0;
    const double unit = std::pow(10, std::floor(std::log10(value)) - digits + 1);
    return std::ceil(value / unit) * unit;
}

void print_risk(const privacy::risk_statement& risk) {
    say("what an attacker can tell who knows all but whether one unit was in the data\n"
        "  wrong about, of 1,000 not in it   right about, of 1,000 in it, at most\n");
    for (const auto& [wrong, right] : risk.best)
        say("  {:>31g}   {:>36.2f}\n", 1000 * wrong, std::ceil(1e5 * right) / 100);
    say("  advantage {:.4g}: the largest difference of the two rates\n", round_up(risk.advantage, 4));
    if (std::isfinite(risk.mu))
        say("  μ {:.4g}: of a Gaussian mechanism whose attacker is no worse at 65 rates from 0.0001 to a half, and by "
            "at "
            "most {:.3g} of 1,000 better\n",
            round_up(risk.mu, 4), round_up(1000 * risk.excess, 3));
}

/// Puts the rounds of one banded phase in its place, and tells of them; null without --bands.
json apply_bands(const account_arguments& given, std::vector<privacy::phase>& phases) {
    const auto population = read_population(given.banded);
    if (given.banded.bands.empty()) return nullptr;
    if (phases.size() != 1) refuse("--bands: noise of several levels is not correlated; give one --phase");
    privacy::checked_phases(phases);
    const auto& [z, rate, steps] = phases.front();
    const privacy::banded_plan plan{rate, steps, population};
    // An open number is compared with others at what independent noise of this multiplier costs.
    const auto pld = privacy::make_accountant("pld");
    const double delta = given.delta.empty() ? 0 : parse_number("--delta", given.delta);
    if (given.banded.bands == "open" && given.delta.empty())
        refuse("--bands open: budgets are compared at one δ; give --delta D");
    const double budget = given.banded.bands == "open" ? pld->epsilon(phases, delta) : 0;
    const auto bands = read_bands(given.banded, plan, *pld, budget, delta);
    auto out = describe_bands(*bands, plan);
    phases = {privacy::to_rounds(bands->bands, z, rate, steps)};
    return out;
}

int account_phases(const account_arguments& given) {
    std::vector<privacy::phase> phases;
    for (const auto& text : given.phases) phases.push_back(parse_phase(text));
    const auto banded = apply_bands(given, phases);
    json out = json::object();
    if (!given.delta.empty()) {
        const double delta = parse_number("--delta", given.delta);
        out = prices(phases, delta);
        out["delta"] = delta;
    }
    if (!given.epsilons.empty()) out["curve"] = curve(phases, given.epsilons);
    if (!banded.is_null()) out.update(banded);
    std::optional<privacy::risk_statement> risk;
    if (given.risk) risk = privacy::state_risk(privacy::trade_off(phases));
    if (given.json) {
        if (risk) out["attack_risk"] = privacy::to_object(*risk);
        say("{}\n", out.dump());
        return 0;
    }
    if (!banded.is_null()) print_bands(banded);
    if (out.contains("delta")) {
        say("at δ = {:g}\n", out.at("delta").get<double>());
        print_prices(out, 2);
    }
    for (const auto& point : out.value("curve", json::array())) {
        say("at ε = {:g}\n", point.at("epsilon").get<double>());
        for (const auto& name : all_names<accountant_kind>())
            say("  {:<9}δ = {:<12.4g}{}\n", name, point.at(name).at("delta").get<double>(),
                bound(*privacy::make_accountant(name)));
    }
    if (risk) print_risk(*risk);
    return 0;
}

int account_ledger(const account_arguments& given) {
    const auto content = privacy::read_ledger(given.ledger);
    const auto& header = content.header;
    const auto phases = content.phases();
    const auto progress = prices(phases, header.mechanism_delta());
    std::optional<privacy::risk_statement> risk;
    if (given.risk) risk = privacy::state_risk(privacy::find_trade_off(header));
    if (given.json) {
        json out = {{"delta", header.delta},         {"guaranteed_epsilon", json_number(header.epsilon_guaranteed)},
                    {"policy", header.policy},       {"semantics", name_of(header.semantics)},
                    {"planned_steps", header.steps}, {"charged_steps", content.charges.size() + (content.torn ? 1 : 0)},
                    {"torn", content.torn},          {"progress", {{"is_guarantee", false}, {"epsilon", progress}}}};
        if (risk) out["attack_risk"] = privacy::to_object(*risk);
        say("{}\n", out.dump());
        return 0;
    }
    say("guaranteed ε   {} at δ = {:g}, policy {}, {} planned steps\n", show(header.epsilon_guaranteed), header.delta,
        header.policy, header.steps);
    for (const auto& why : header.guarantee().voids()) say("               NO GUARANTEE: {}\n", why);
    say("progress ε     of the {} steps charged so far; for orientation, no guarantee\n", content.charges.size());
    print_prices(progress, 2);
    if (risk) print_risk(*risk);
    if (content.torn) say("The last line is torn; its charge is counted at the least noise of the plan.\n");
    return 0;
}

void check(const account_arguments& given) {
    if (given.ledger.empty() == given.phases.empty())
        refuse("account: give either --phase z,q,steps (repeatable) or --ledger FILE");
    if (given.ledger.empty() && given.delta.empty() && given.epsilons.empty() && !given.risk)
        refuse("account: give --delta D (prints ε), --epsilon E (prints δ) or --risk");
    if (!given.ledger.empty() && (!given.delta.empty() || !given.epsilons.empty()))
        refuse("account: a ledger has its own δ; leave --delta and --epsilon out");
    if (!given.ledger.empty() && !given.banded.bands.empty())
        refuse("account: a ledger knows its own bands; leave --bands out");
}

}  // namespace

void add_account(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand(
        "account", "Price phases of subsampled Gaussian steps, or a ledger, under every accountant");
    auto given = std::make_shared<account_arguments>();
    command
        ->add_option("--phase", given->phases,
                     "noise multiplier, sample rate, steps: z,q,steps; repeatable, order is free")
        ->allow_extra_args(false);
    command->add_option("--delta", given->delta, "δ in (0, 1): print ε");
    command->add_option("--epsilon", given->epsilons, "ε ≥ 0: print δ; repeatable, for points of the privacy curve")
        ->allow_extra_args(false);
    command->add_option("--ledger", given->ledger, "a run's public/ledger.jsonl: guaranteed and progress ε");
    command->add_flag("--risk", given->risk,
                      "what an attacker can tell about one unit at best, of phases or of all that a ledger promises");
    add_bands_options(*command, given->banded);
    command->add_flag("--json", given->json, "print as JSON");
    command->footer("Example: rldp account --phase 1.1,0.01,1000 --phase 0.9,0.01,200 --delta 1e-5");
    command->callback([given, &chosen] {
        chosen = [given] {
            check(*given);
            return given->ledger.empty() ? account_phases(*given) : account_ledger(*given);
        };
    });
}

}  // namespace rldp::app
