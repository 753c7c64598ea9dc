#pragma once
// A prepared policy at the wheel of a run: the run's releases as it saw made-up tasks, its moves as the run's dials.
#include <cstddef>
#include <memory>
#include <string>

#include "rl/controller.hpp"
#include "rl/prepare/prepared_policy.hpp"

namespace rldp::rl {

/// What is known of a run before it begins.
struct run_terms {
    std::size_t adapters = 0;     ///< n
    double numbers = 0;           ///< D
    double noise_multiplier = 0;  ///< z, of every step
    double batch = 0;             ///< B
    double epochs = 0;            ///< B·T/N
};

class prepared_controller final : public controller {
  public:
    /// Errors: a bug for a policy that looks at public records.
    prepared_controller(std::shared_ptr<const prepared_policy> how, const run_terms& terms);

    /// Needs the signs of every adapter. A policy that its gate did not let pass leaves every dial where it is.
    dials decide(const outlook& seen) override;
    void learn() override {}

    std::string save() const override;  ///< JSON
    void load(const std::string& bytes) override;

  private:
    sight sight_of(const outlook& seen) const;

    std::shared_ptr<const prepared_policy> how_;
    run_terms terms_;
    move last_;
};

}  // namespace rldp::rl
