#pragma once
// What a run's promise means to an attacker, in numbers that a certificate states and anybody can compute again
// (docs/privacy.md §17).
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "privacy/accounting/risk.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::privacy {

struct risk_statement {
    struct attack {
        double false_positive_rate, true_positive_rate;
        bool operator==(const attack&) const = default;
    };
    std::vector<attack> best;  ///< at shown_rates
    double advantage = 0;
    double mu = 0;      ///< of a Gaussian mechanism that covers the curve; +inf: none does
    double excess = 0;  ///< by how much of the true-positive rate he is better at most

    bool operator==(const risk_statement&) const = default;
};

/// Of every step in `committed` and all `looks`, about a unit on either side of the split. Where nothing is committed
/// beforehand, as of a policy that chooses its noise as the run goes, steps are no more than (ε, δ).
trade_off find_trade_off(std::span<const phase> committed, double epsilon, double delta, double padding_delta,
                         const look_plan& looks);
/// Of whatever a header of these numbers releases. Errors: bad_input unless the header guarantees something.
trade_off find_trade_off(const ledger_header& header);
risk_statement state_risk(const trade_off& curve);

/// As certificates and programs read it: best_attacks, advantage, gaussian_mu (null: there is none), gaussian_excess.
nlohmann::json to_object(const risk_statement& risk);
/// Errors: nlohmann's, for anything else.
risk_statement risk_from(const nlohmann::json& in);

/// Errors: bad_input where `claimed` says that an attacker can do less than these numbers allow, or clearly more.
void check_risk(const risk_statement& claimed, const ledger_header& header);

}  // namespace rldp::privacy
