#include "privacy/spending/policy.hpp"

#include <fmt/format.h>

#include <cmath>

#include "config/base/error.hpp"
#include "privacy/spending/policy_check.hpp"

namespace rldp::privacy {
namespace {

/// Every step at z_0. Proof obligation: none beyond the accountant's, for nothing is chosen while training.
class fixed_policy final : public spending_policy {
  public:
    explicit fixed_policy(const plan& plan) : steps_(plan.steps) {
        const run all{1, plan.sample_rate, plan.steps};
        level_ = calibrate(*bounding_accountant(plan), {&all, 1}, plan.epsilon, plan.delta);
    }
    std::string_view name() const override { return "fixed"; }
    double initial_noise_multiplier() const override { return level_.noise_multiplier; }
    double guaranteed_epsilon() const override { return level_.epsilon; }
    const std::vector<card>& deck() const override { return deck_; }
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
    step_counter steps_;
    calibration level_{};
    std::vector<card> deck_;
};

void check(const plan& plan) {
    const auto positive = [](const char* key, double x) {
        if (!(std::isfinite(x) && x > 0)) refuse(fmt::format("plan: {} {} must be positive and finite", key, x));
    };
    positive("epsilon", plan.epsilon);
    positive("sample_rate", plan.sample_rate);
    if (!(plan.delta > 0 && plan.delta < 1))
        refuse(fmt::format("plan: delta {} must lie strictly between 0 and 1", plan.delta));
    if (plan.sample_rate > 1) refuse(fmt::format("plan: sample_rate {} must not exceed 1", plan.sample_rate));
    if (plan.steps < 1) refuse(fmt::format("plan: steps {} must be at least 1", plan.steps));
    if (plan.interval < 1) refuse(fmt::format("plan: interval {} must be at least 1", plan.interval));
    if (plan.deck_levels < 1 || plan.deck_levels > 1000)
        refuse(fmt::format("plan: deck levels {} must lie in [1, 1000]", plan.deck_levels));
    if (!(plan.deck_ratio >= 1 && plan.deck_ratio <= 100))
        refuse(fmt::format("plan: deck ratio {} must lie in [1, 100]", plan.deck_ratio));
}

}  // namespace

std::unique_ptr<accountant> bounding_accountant(const plan& plan) {
    auto chosen = make_accountant(plan.accountant);
    if (!chosen->is_upper_bound())
        refuse(fmt::format("plan: accountant {} can under-report and enforces no budget; use pld or rdp",
                           plan.accountant));
    return chosen;
}

void check_request(std::int64_t step, double requested) {
    if (!(std::isfinite(requested) && requested > 0))
        refuse(fmt::format("step {}: the controller asks for noise multiplier {}; it must be positive and finite", step,
                           requested));
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

std::unique_ptr<spending_policy> make_policy(std::string_view name, const plan& plan) {
    check(plan);
    if (name == "fixed") return std::make_unique<fixed_policy>(plan);
    if (name == "deck") return make_deck_policy(plan);
    if (name == "filter") return make_filter_policy(plan);
    if (name == "published") return make_published_policy(plan);
    refuse(
        fmt::format("policy \"{}\" is unknown: use fixed, deck or filter (published only under as_published)", name));
}

}  // namespace rldp::privacy
