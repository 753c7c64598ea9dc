// as_published: σ free in [σ_0/2, 2·σ_0], priced step by step after it was chosen, by an approximation that
// under-reports. Twice no guarantee (docs/privacy.md §9); kept to reproduce the publication.
#include <cmath>
#include <limits>

#include "privacy/accounting/gdp.hpp"
#include "privacy/spending/policy_check.hpp"

namespace rldp::privacy {
namespace {

constexpr double sum_slack = 1e-9;  // of μ², for the sum over steps

class published_policy final : public spending_policy {
  public:
    explicit published_policy(const spending_plan& plan) : rate_(plan.sample_rate), steps_(plan.steps) {
        const phase unit{1, plan.sample_rate, plan.steps};
        initial_ = calibrate(*make_gdp_clt(), {&unit, 1}, plan.epsilon_budget, plan.delta).noise_multiplier;
        // gdp_clt depends on a list through μ² alone, which adds up.
        budget_ = static_cast<double>(plan.steps) * cost(initial_);
    }
    double initial_noise_multiplier() const override { return initial_; }
    double epsilon_guaranteed() const override { return std::numeric_limits<double>::infinity(); }
    std::vector<phase> committed() const override { return {}; }

    std::optional<grant> next(std::int64_t step, double requested) override {
        if (!steps_.open(step)) return std::nullopt;
        check_request(step, requested);
        const double z = noise_range(initial_).clamp(requested);
        if (!affordable(z)) return std::nullopt;
        spend(step, z);
        return grant{z, std::nullopt};
    }
    void replay(std::int64_t step, const grant& granted) override {
        const double z = granted.noise_multiplier;
        if (!steps_.open(step)) refuse_replay(step, granted, "the plan ends before");
        if (granted.card) refuse_replay(step, granted, "the published policy has no cards");
        check_range(step, granted, noise_range(initial_));
        if (!affordable(z)) refuse_replay(step, granted, "the budget left does not cover it");
        spend(step, z);
    }

  private:
    double cost(double z) const {
        const phase step{z, rate_, 1};
        return std::pow(central_limit_mu({&step, 1}), 2);
    }
    bool affordable(double z) const { return spent_ + cost(z) <= budget_ * (1 + sum_slack); }
    void spend(std::int64_t step, double z) {
        spent_ += cost(z);
        steps_.take(step);
    }

    double rate_;
    step_counter steps_;
    double initial_ = 0, budget_ = 0, spent_ = 0;
};

}  // namespace

std::unique_ptr<spending_policy> make_published_policy(const spending_plan& plan) {
    return std::make_unique<published_policy>(plan);
}

}  // namespace rldp::privacy
