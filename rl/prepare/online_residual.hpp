#pragma once
// SAC that goes on learning in a run what to add to a prepared policy's rule. It begins with the preparation's actor
// and with critics that know nothing; the fall of the loss on public records is its reward, as the fall of the true
// loss was in preparation. Public side: it sees releases and public records.
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "rl/prepare/prepared_policy.hpp"
#include "rl/prepare/residual_learner.hpp"
#include "rl/prepare/residual_sac.hpp"

namespace rldp::rl {

class online_residual {
  public:
    /// For runs of so many adapters.
    online_residual(std::shared_ptr<const prepared_policy> from, std::size_t adapters, std::uint64_t seed);

    /// The policy's move with what the actor of now draws; before it, what came of the last one is remembered.
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

}  // namespace rldp::rl
