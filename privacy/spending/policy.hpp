#pragma once
// How a budget is spent: the range of noise multipliers, the price of looks, and policies that grant each step its
// noise.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/kinds.hpp"
#include "privacy/accounting/accountant.hpp"

namespace rldp::privacy {

// Noise range. How far a noise multiplier that is chosen while training may lie from z_0: a factor of two on either
// side.

struct noise_range {
    explicit noise_range(double initial) : least(initial / 2), most(2 * initial) {}

    double clamp(double z) const { return std::clamp(z, least, most); }
    /// Up to what another processor's arithmetic may change.
    bool contains(double z) const { return z >= least * (1 - 1e-9) && z <= most * (1 + 1e-9); }

    double least, most;
};

// Looks. The price of looking at held-out units (docs/privacy.md §13). A unit lies on one side of the split by a hash
// of itself alone, so one more unit changes either what training releases or what looks release, never both; each side
// may depend on the other's releases. Priced apart at the same (ε, δ), both together are (ε, δ) for every unit of the
// file.

/// What a run, or several together, commit to before their first look.
struct look_plan {
    std::int64_t count = 0;       ///< looks at most
    double noise_multiplier = 0;  ///< of each, over the L2 norm of what a unit adds
    bool operator==(const look_plan&) const = default;
};

/// ε at δ of all of them: Gaussians without subsampling, hence exactly μ-GDP with μ² = count/z² (Dong, Roth, Su 2022,
/// corollary 2). 0 without looks. Errors: bad_input for δ outside (0, 1).
double compute_epsilon(const look_plan& looks, double delta);

/// The least noise multiplier at which `count` looks, at least one, cost at most ε at δ, from the safe side.
double noise_of_looks(std::int64_t count, double epsilon, double delta);

// Spending policies. Who may choose the noise multiplier of a step, and why the total stays valid although the choice
// depends on earlier releases (docs/privacy.md §4).

/// One block's noise level.
struct card {
    double noise_multiplier;
    std::int64_t steps;  ///< of a full block; the last block of a run may be shorter, whichever card it gets
};

struct spending_plan {
    double epsilon_budget, delta;
    double sample_rate;
    std::int64_t steps;
    std::int64_t interval;   ///< T_RL: block k is steps (k-1)·interval+1 … k·interval
    std::string accountant;  ///< pld | rdp; gdp_clt for the unsound policy only
    std::int64_t deck_levels = 1;
    double deck_ratio = 1;
    std::int64_t bands = 1;  ///< of noise that is correlated over steps (docs/privacy.md §14); above 1 for fixed alone
    std::int64_t runs = 1;   ///< of this plan that the budget pays for together (docs/privacy.md §15)
    /// A ledger's deck, for a run that is resumed: another processor calibrates with other last bits.
    std::vector<card> ledger_deck = {};
};

struct grant {
    double noise_multiplier;          ///< z, the accounted joint multiplier of the step
    std::optional<std::size_t> card;  ///< index into deck()
};

class spending_policy {
  public:
    virtual ~spending_policy() = default;
    /// z_0: the multiplier that the plan would use throughout, and where the controller's σ starts.
    virtual double initial_noise_multiplier() const = 0;
    /// ε that holds from the first release on, however the run ends; +inf or a published figure under as_published.
    virtual double epsilon_guaranteed() const = 0;
    /// Every step that may be charged, in all of the plan's runs, as a composition that dominates whatever order it is
    /// spent in. Empty where the multipliers are chosen as the run goes: then epsilon_guaranteed() is all that can be
    /// said before.
    virtual std::vector<phase> committed() const = 0;
    /// The cards of a policy that deals some.
    virtual std::vector<card> deck() const { return {}; }
    /// The grant of `step` (1-based, in order, none twice; one left out releases nothing) if the controller asks for
    /// `requested`; nothing once exhausted. Where the policy heeds the request it must be positive and
    /// finite; else nothing is granted or spent.
    virtual std::optional<grant> next(std::int64_t step, double requested) = 0;
    /// Takes back into account a grant that the ledger holds, in its order. Errors: bad_input if this policy would not
    /// have granted it.
    virtual void replay(std::int64_t step, const grant& granted) = 0;
};

/// The same steps once for each of so many runs.
std::vector<phase> repeat(std::vector<phase> phases, std::int64_t runs);

/// What a deck commits to: its cards, the one with the most noise shortened so that the steps are the plan's. That
/// multiset dominates every order in which the deck can be dealt (deck.cpp).
std::vector<phase> priced_phases(const std::vector<card>& deck, double sample_rate, std::int64_t steps);

/// The kind published is as_published's free σ in [0.5 z_0, 2 z_0] under a gdp_clt budget: no guarantee. Requires an
/// interval and levels of at least 1 and a ratio of at least 1. Errors: bad_input for another number out of range,
/// bands or several runs that the plan or the policy does not admit, an accountant that is no upper bound (published
/// alone always uses gdp_clt), a budget that no noise meets.
std::unique_ptr<spending_policy> make_policy(policy_kind kind, const spending_plan& plan);

}  // namespace rldp::privacy
