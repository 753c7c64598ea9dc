#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/accounting/bands.hpp"
#include "privacy/accounting/gdp.hpp"
#include "privacy/spending/policy.hpp"
#include "privacy/spending/policy_check.hpp"

namespace rldp::privacy {

double compute_epsilon(const look_plan& looks, double delta) {
    require(delta > 0 && delta < 1, "looks: delta lies outside (0, 1)");
    if (looks.count == 0) return 0;
    return gaussian_epsilon(std::sqrt(static_cast<double>(looks.count)) / looks.noise_multiplier, delta);
}

double noise_of_looks(std::int64_t count, double epsilon, double delta) {
    require(count >= 1 && epsilon > 0 && std::isfinite(epsilon), "looks: a number and a finite budget are needed");
    const auto affordable = [&](double z) { return compute_epsilon({count, z}, delta) <= epsilon; };
    double high = 1;
    while (!affordable(high)) high *= 2;
    double low = high / 2;
    while (affordable(low)) low /= 2, high /= 2;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (affordable(middle) ? high : low) = middle;
    }
    return high;
}

namespace {

/// Every step at z_0. Proof obligation: none beyond the accountant's, for nothing is chosen while training. In several
/// bands what is priced is rounds, in each of which a unit takes part once at most; of several runs, those of all.
class fixed_policy final : public spending_policy {
  public:
    explicit fixed_policy(const spending_plan& plan)
        : rounds_(to_rounds(plan.bands, 1, plan.sample_rate, plan.steps)), steps_(plan.steps) {
        rounds_.steps *= plan.runs;
        level_ = calibrate(*bounding_accountant(plan), {&rounds_, 1}, plan.epsilon_budget, plan.delta);
        rounds_.noise_multiplier = level_.noise_multiplier;
    }
    double initial_noise_multiplier() const override { return level_.noise_multiplier; }
    double epsilon_guaranteed() const override { return level_.epsilon; }
    std::vector<phase> committed() const override { return {rounds_}; }
    std::optional<grant> next(std::int64_t step, double) override {
        if (!steps_.open(step)) return std::nullopt;
        steps_.take(step);
        return grant{level_.noise_multiplier, std::nullopt};
    }
    void replay(std::int64_t step, const grant& granted) override {
        if (!steps_.open(step)) refuse_replay(step, granted, "the plan ends before");
        if (granted.card) refuse_replay(step, granted, "the fixed policy has no cards");
        if (!same_multiplier(granted.noise_multiplier, level_.noise_multiplier))
            refuse_replay(step, granted, fmt::format("this plan grants {}", level_.noise_multiplier));
        steps_.take(step);
    }

  private:
    phase rounds_;  ///< all of them, in all runs, at z_0
    step_counter steps_;
    calibration level_{};
};

constexpr std::int64_t most_steps_of_runs = 10'000'000;  // what accountants are made for

void check(const spending_plan& plan) {
    // These may come from a ledger that somebody wrote.
    if (!is_positive(plan.epsilon_budget))
        refuse(fmt::format("plan: epsilon {} must be positive and finite", plan.epsilon_budget));
    if (!(plan.delta > 0 && plan.delta < 1))
        refuse(fmt::format("plan: delta {} must lie strictly between 0 and 1", plan.delta));
    if (!(plan.sample_rate > 0 && plan.sample_rate <= 1))
        refuse(fmt::format("plan: sample_rate {} must lie in (0, 1]", plan.sample_rate));
    if (plan.steps < 1) refuse(fmt::format("plan: steps {} must be at least 1", plan.steps));
    check_bands(plan.bands, {plan.sample_rate, plan.steps});
    if (plan.runs < 1 || plan.runs > most_steps_of_runs / plan.steps)
        refuse(fmt::format("plan: {} runs of {} steps; a budget pays for at least one and {:g} steps together",
                           plan.runs, plan.steps, static_cast<double>(most_steps_of_runs)));
    require(plan.interval >= 1, "plan: the interval is at least 1");
    require(plan.deck_levels >= 1, "plan: a deck has at least one level");
    require(std::isfinite(plan.deck_ratio) && plan.deck_ratio >= 1, "plan: a deck's ratio is at least 1");
}

}  // namespace

std::unique_ptr<accountant> bounding_accountant(const spending_plan& plan) {
    auto chosen = make_accountant(plan.accountant);
    if (!chosen->is_upper_bound())
        refuse(fmt::format("plan: accountant {} can under-report and enforces no budget; use pld or rdp",
                           plan.accountant));
    return chosen;
}

void check_request(std::int64_t step, double requested) {
    require_positive(requested, fmt::format("the noise multiplier that the controller asks for at step {}", step));
}

bool same_multiplier(double a, double b) {
    return std::abs(a - b) <= 1e-9 * b;
}

bool step_counter::open(std::int64_t step) const {
    if (step <= last_)
        refuse(fmt::format("step {} was asked for after step {}; steps come in order, none twice", step, last_));
    return step <= planned_;
}

void refuse_replay(std::int64_t step, const grant& granted, const std::string& why) {
    refuse(fmt::format(
        "ledger: step {} was charged at noise multiplier {} (card {}), which this plan would not have granted: "
        "{}; resume with the run's own configuration",
        step, granted.noise_multiplier, granted.card ? std::to_string(*granted.card) : "none", why));
}

void check_range(std::int64_t step, const grant& granted, const noise_range& allowed) {
    if (!allowed.contains(granted.noise_multiplier))
        refuse_replay(step, granted, fmt::format("it lies outside [{}, {}]", allowed.least, allowed.most));
}

std::vector<phase> repeat(std::vector<phase> phases, std::int64_t runs) {
    for (auto& each : phases) each.steps *= runs;
    return phases;
}

std::unique_ptr<spending_policy> make_policy(policy_kind kind, const spending_plan& plan) {
    check(plan);
    // A multiplier that is chosen while training: for noise in bands no proof is known to us.
    if (plan.bands > 1 && kind != policy_kind::fixed)
        refuse(
            fmt::format("noise.bands is {}, but noise.policy {} changes the noise while training, which is proven for "
                        "one band only; give noise.policy fixed, or noise.bands 1",
                        plan.bands, name_of(kind)));
    // What one filter leaves, another may not have: of several runs together nothing is proven.
    if (plan.runs > 1 && kind != policy_kind::fixed && kind != policy_kind::deck)
        refuse(fmt::format(
            "noise.policy {} chooses how much a step spends while training, and {} runs share one budget here, for "
            "which that is not proven; give noise.policy fixed or deck",
            name_of(kind), plan.runs));
    switch (kind) {
        case policy_kind::fixed:
            return std::make_unique<fixed_policy>(plan);
        case policy_kind::deck:
            return make_deck_policy(plan);
        case policy_kind::filter:
            return make_filter_policy(plan);
        case policy_kind::published:
            return make_published_policy(plan);
    }
    bug("a spending policy that nothing makes");
}

}  // namespace rldp::privacy
