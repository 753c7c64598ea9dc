#pragma once
// The parts of policy.cpp, one file per policy.
#include <memory>

#include "privacy/spending/policy.hpp"

namespace rldp::privacy {

std::unique_ptr<spending_policy> make_deck_policy(const spending_plan& plan);
std::unique_ptr<spending_policy> make_filter_policy(const spending_plan& plan);
std::unique_ptr<spending_policy> make_published_policy(const spending_plan& plan);

/// The policy's accountant. Errors: bad_input for one that may under-report.
std::unique_ptr<accountant> bounding_accountant(const spending_plan& plan);
/// Requires a positive, finite one. A controller that asks for anything else is broken; hiding it would cost more than
/// stopping, for a stopped run resumes.
void check_request(std::int64_t step, double requested);

/// Equal up to what another processor's arithmetic may change.
bool same_multiplier(double a, double b);

/// Steps come in order and none twice. Some may be missing: a step that is left out releases nothing.
class step_counter {
  public:
    explicit step_counter(std::int64_t planned) : planned_(planned) {}
    /// Whether `step` is still planned. Errors: bad_input for one that is not after the last.
    bool open(std::int64_t step) const;
    void take(std::int64_t step) { last_ = step; }
    std::int64_t planned() const { return planned_; }

  private:
    std::int64_t planned_, last_ = 0;
};

/// Refuses a grant in the ledger that the policy would not have made.
[[noreturn]] void refuse_replay(std::int64_t step, const grant& granted, const std::string& why);
/// Refuses one at a multiplier outside `allowed`.
void check_range(std::int64_t step, const grant& granted, const noise_range& allowed);

}  // namespace rldp::privacy
