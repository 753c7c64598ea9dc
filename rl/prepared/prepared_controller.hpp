#pragma once
// A prepared policy at the wheel of a run, and what goes on learning there. Public side: it sees releases and public
// records.
#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/kinds.hpp"
#include "rl/prepared/prepared_policy.hpp"
#include "rl/prepared/residual_sac.hpp"
#include "run/train/steering.hpp"

namespace rldp::rl {

// Online residual. SAC that goes on learning in a run what to add to a prepared policy's rule. It begins with the
// preparation's actor and with critics that know nothing; the fall of the loss on public records is its reward, as the
// fall of the true loss was in preparation.

class online_residual {
  public:
    /// For runs of so many adapters.
    online_residual(std::shared_ptr<const prepared_policy> from, std::size_t adapters, std::uint64_t seed);

    /// The policy's action with what the actor of now draws; before it, what came of the last one is remembered.
    /// `log_public_loss`: at the end of the block that `seen` tells of. Takes well under a millisecond.
    policy_action decide(const policy_observation& seen, double log_public_loss);
    /// The updates that the last decision brought; none while too little is remembered.
    void learn();

    nlohmann::json save() const;             ///< with binary values
    void load(const nlohmann::json& saved);  ///< errors: as residual_sac::load

  private:
    /// A decision whose outcome is yet to come.
    struct open_step {
        policy_observation seen;  ///< normalised
        policy_action raw;
        double log_public_loss = 0;
    };

    std::shared_ptr<const prepared_policy> from_;
    residual_sac learner_;
    std::size_t adapters_;
    std::uint64_t seed_, decisions_ = 0;
    std::optional<open_step> open_;
};

// Prepared controller. A prepared policy at the wheel of a run: the run's releases as it saw made-up tasks, its actions
// as the run's.

/// What is known of a run before it begins.
struct run_terms {
    known_plan plan;
    double noise_multiplier = 0;  ///< z, of every step
    double epochs = 0;            ///< B·T/N
    bool online = false;          ///< whether what the policy adds to its rule goes on learning (online_residual)
    std::uint64_t seed = 0;       ///< of draws: a control's, or of what learns
};

class prepared_controller final : public controller {
  public:
    /// Errors: a bug for a policy that is to learn and steers nothing.
    prepared_controller(std::shared_ptr<const prepared_policy> how, const run_terms& terms,
                        controller_mode mode = controller_mode::learned);

    /// Needs the features of every adapter, and the loss on public records where it learns. A policy that its gate did
    /// not let pass leaves everything as it is.
    block_action decide(const block_observation& seen) override;
    void learn() override;
    std::int64_t decisions() const override { return decisions_; }

    std::string save() const override;  ///< CBOR
    void load(const std::string& bytes) override;

  private:
    /// What a block showed: of the control shuffled, an earlier one's and a score of either sign.
    struct sight {
        std::vector<adapter_features> features;
        std::optional<double> score;
    };

    sight show(const block_observation& seen);
    policy_action chosen_at(const policy_observation& now, const block_observation& seen);
    policy_observation make_observation(double time, const sight& shown) const;

    std::shared_ptr<const prepared_policy> how_;
    run_terms terms_;
    controller_mode mode_;
    policy_action last_;
    std::vector<sight> blocks_;  ///< so far; of the control shuffled alone
    std::int64_t decisions_ = 0, scores_ = 0;
    std::optional<online_residual> learner_;
};

}  // namespace rldp::rl
