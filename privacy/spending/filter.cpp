// The filter: z is free within [z_0/2, 2·z_0] as long as a Rényi budget of one order lasts.
//
// Proof obligation (Feldman and Zrnic 2021, Theorem 4.3, with the order fixed before training): if every step t, given
// the past, has E[e^{λL_t}] ≤ e^{k_t} with k_t known before the step, and Σ k_t ≤ K always, then E[e^{λ Σ L_t}] ≤ e^K,
// however the k_t were chosen: e^{λ Σ_{s≤t} L_s − Σ_{s≤t} k_s} is a supermartingale. K = λε + log δ − log_conversion(λ)
// then gives δ at ε (Canonne, Kamath, Steinke 2020). log_moment of `remove` bounds both directions. Minimising over
// orders afterwards would break the argument: each order's budget would have to hold at once.
#include <cmath>

#include "privacy/accounting/rdp.hpp"
#include "privacy/spending/policy_check.hpp"

namespace rldp::privacy {
namespace {

constexpr double slack = 1e-9;  // of the budget, for sums over steps; log_moment's own margin of 1e-7 covers it

class filter_policy final : public spending_policy {
  public:
    explicit filter_policy(const spending_plan& plan)
        : rate_(plan.sample_rate), epsilon_(plan.epsilon_budget), steps_(plan.steps) {
        bounding_accountant(plan);  // refuses what can't enforce; the filter itself accounts in Rényi terms
        // The best order at the smallest z_0 that any order allows: jointly the least z_0 with steps·ρ(z_0) ≤ budget.
        const phase unit{1, plan.sample_rate, plan.steps};
        initial_ = calibrate(*make_rdp(), {&unit, 1}, plan.epsilon_budget, plan.delta).noise_multiplier;
        const phase all{initial_, plan.sample_rate, plan.steps};
        lambda_ = best_order_for_delta(direction::remove, {&all, 1}, plan.delta).lambda;
        budget_ = lambda_ * plan.epsilon_budget + std::log(plan.delta) - log_conversion(lambda_);
        least_cost_ = cost(noise_range(initial_).most);
    }
    double initial_noise_multiplier() const override { return initial_; }
    double epsilon_guaranteed() const override { return epsilon_; }
    std::vector<phase> committed() const override { return {}; }

    std::optional<grant> next(std::int64_t step, double requested) override {
        if (!steps_.open(step)) return std::nullopt;
        check_request(step, requested);
        const double z = raised(noise_range(initial_).clamp(requested), affordable(step));
        spend(step, z);
        return grant{z, std::nullopt};
    }
    void replay(std::int64_t step, const grant& granted) override {
        const double z = granted.noise_multiplier;
        if (!steps_.open(step)) refuse_replay(step, granted, "the plan ends before");
        if (granted.card) refuse_replay(step, granted, "the filter has no cards");
        check_range(step, granted, noise_range(initial_));
        if (cost(z) > affordable(step) + slack * budget_)
            refuse_replay(step, granted, "the budget left does not cover it");
        spend(step, z);
    }

  private:
    double cost(double z) const { return log_moment(direction::remove, lambda_, z, rate_); }

    /// What `step` may cost so that all later planned steps can still be had at 2·z_0. At least least_cost_, by
    /// induction.
    double affordable(std::int64_t step) const {
        return budget_ - spent_ - static_cast<double>(steps_.planned() - step) * least_cost_;
    }

    /// The smallest multiplier from z up, at most 2·z_0, that costs no more than `most`.
    double raised(double z, double most) const {
        if (cost(z) <= most) return z;
        double low = z, high = noise_range(initial_).most;
        while (high / low > 1 + 1e-6) {
            const double middle = std::sqrt(low * high);
            (cost(middle) > most ? low : high) = middle;
        }
        return high;
    }

    void spend(std::int64_t step, double z) {
        spent_ += cost(z);
        steps_.take(step);
    }

    double rate_, epsilon_;
    step_counter steps_;
    double initial_ = 0, lambda_ = 0;                 ///< z_0 and α* − 1
    double budget_ = 0, spent_ = 0, least_cost_ = 0;  ///< in λ·ρ
};

}  // namespace

std::unique_ptr<spending_policy> make_filter_policy(const spending_plan& plan) {
    return std::make_unique<filter_policy>(plan);
}

}  // namespace rldp::privacy
