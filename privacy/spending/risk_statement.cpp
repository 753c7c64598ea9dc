#include "privacy/spending/risk_statement.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "privacy/spending/policy.hpp"

namespace rldp::privacy {
namespace {

constexpr double risk_rounding = 1e-6;  // another processor's transforms round differently
constexpr double too_much = 2e-3;       // of a rate: another version's mesh may be finer

/// Every step that may be charged; empty where only (ε, δ) is known.
std::vector<phase> find_committed(const ledger_header& header) {
    const auto kind = parse_named<policy_kind>(header.policy);
    // Its cards are in the header; what they were cut from is not.
    if (kind == policy_kind::deck)
        return repeat(priced_phases(header.deck, header.sample_rate, header.steps), header.runs);
    return make_policy(kind, to_spending_plan(header))->committed();
}

void compare(const char* what, double claimed, double found) {
    if (claimed < found * (1 - risk_rounding) - risk_rounding)
        refuse(fmt::format("risk: {} is said to be {:.6g}, these numbers allow {:.6g}; do not rely on it", what,
                           claimed, found));
    if (claimed > found + too_much)
        refuse(
            fmt::format("risk: {} is said to be {:.6g}, these numbers allow {:.6g}, clearly less: it is not of this "
                        "plan",
                        what, claimed, found));
}

}  // namespace

trade_off find_trade_off(std::span<const phase> committed, double epsilon, double delta, double padding_delta,
                         const look_plan& looks) {
    auto out = committed.empty() ? trade_off(epsilon, delta) : trade_off(committed, padding_delta);
    if (looks.count > 0) {
        const phase all{looks.noise_multiplier, 1, looks.count};
        out = out.worse_of(trade_off({&all, 1}));
    }
    return out;
}

trade_off find_trade_off(const ledger_header& header) {
    if (!header.guarantee().holds()) refuse("risk: what guarantees nothing has none that could be stated");
    return find_trade_off(find_committed(header), header.epsilon_guaranteed, header.delta, header.padding_delta,
                          header.all_looks());
}

risk_statement state_risk(const trade_off& curve) {
    risk_statement out;
    for (const double rate : shown_rates) out.best.push_back({rate, curve.true_positive_rate(rate)});
    out.advantage = curve.advantage();
    const auto cover = curve.cover();
    out.mu = cover.mu;
    out.excess = cover.excess;
    return out;
}

nlohmann::json to_object(const risk_statement& risk) {
    using nlohmann::json;
    json best = json::array();
    for (const auto& [wrong, right] : risk.best)
        best.push_back({{"false_positive_rate", wrong}, {"true_positive_rate", right}});
    const bool covered = std::isfinite(risk.mu);
    return {{"best_attacks", std::move(best)},
            {"advantage", risk.advantage},
            {"gaussian_mu", covered ? json(risk.mu) : json(nullptr)},
            {"gaussian_excess", risk.excess}};
}

risk_statement risk_from(const nlohmann::json& in) {
    risk_statement out;
    for (const auto& one : in.at("best_attacks"))
        out.best.push_back({one.at("false_positive_rate").get<double>(), one.at("true_positive_rate").get<double>()});
    in.at("advantage").get_to(out.advantage);
    const auto& mu = in.at("gaussian_mu");
    out.mu = mu.is_null() ? std::numeric_limits<double>::infinity() : mu.get<double>();
    in.at("gaussian_excess").get_to(out.excess);
    return out;
}

void check_risk(const risk_statement& claimed, const ledger_header& header) {
    const auto found = state_risk(find_trade_off(header));
    if (claimed.best.size() != found.best.size()) refuse("risk: it is not stated at the rates that it should be");
    for (std::size_t i = 0; i < found.best.size(); ++i) {
        if (claimed.best[i].false_positive_rate != found.best[i].false_positive_rate)
            refuse("risk: it is not stated at the rates that it should be");
        compare("a true-positive rate", claimed.best[i].true_positive_rate, found.best[i].true_positive_rate);
    }
    compare("the advantage", claimed.advantage, found.advantage);
    if (std::isinf(claimed.mu) != std::isinf(found.mu))
        refuse(fmt::format("risk: μ is said to be {}, it is {}", claimed.mu, found.mu));
    if (std::isinf(found.mu)) return;
    // Of a curve that is told to `risk_rounding`; a rate of 1e-4 moves by that where μ moves by a few thousandths.
    if (std::abs(claimed.mu - found.mu) > 1e-2 * found.mu + 1e-3)
        refuse(fmt::format("risk: μ is said to be {}, it is {}", claimed.mu, found.mu));
    compare("the excess of μ", claimed.excess + too_much / 2, found.excess + too_much / 2);
}

}  // namespace rldp::privacy
