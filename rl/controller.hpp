#pragma once
// Who steers a run: what a controller may look at, and what it sets. Public side: it sees releases only.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "privacy/mechanism/statistics.hpp"
#include "rl/signs.hpp"

namespace rldp::rl {

/// Of a block that has ended.
struct block_observation {
    privacy::observation released;               ///< of its statistics
    std::vector<double> base_radii;              ///< what clip_action delta is relative to
    double time = 0;                             ///< t/T
    std::vector<adapter_features> features = {};       ///< [n], of its gradients; empty where nobody asked for them
    std::optional<double> log_public_loss = {};  ///< log of the loss on public records at its end; likewise
};

/// What the controller sets for the next block.
struct block_action {
    std::vector<double> radii;         ///< C_i; empty: leave as they are
    std::vector<double> shares;        ///< w_i², sum 1; empty: equal
    double noise_multiplier;           ///< σ asked of the spending policy
    double lr_factor = 1;              ///< multiplies the learning-rate schedule, in [1/4, 4]
    std::vector<double> rates = {};    ///< [n] the same of an adapter's own, on top; empty: 1
    std::optional<double> trust = {};  ///< how much of what a net adds acts, in [0, 1]: less, the stranger the run is
};

class controller {
  public:
    virtual ~controller() = default;
    /// The decision for the next block. Takes well under a millisecond.
    virtual block_action decide(const block_observation& seen) = 0;
    /// What this decision has to teach; to be called after decide() and before the next one.
    virtual void learn() = 0;
    virtual std::int64_t decisions() const = 0;  ///< so far

    virtual std::string save() const = 0;  ///< bytes
    virtual void load(const std::string& bytes) = 0;
};

}  // namespace rldp::rl
