#pragma once
// How a net's numbers become a move: added to a base policy's, squashed, and less so the farther a run lies from all
// that was seen in preparation.
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rl/prepare/environment.hpp"
#include "rl/prepare/set_networks.hpp"
#include "rl/prepare/splitmix.hpp"

namespace rldp::rl {

/// The most that a residual adds to a log rate and to a log share.
inline const double most_added_rate = std::log(2.0);
inline constexpr double most_added_share = 1;

/// `base` plus `part`, in [0, 1], of the squashed `raw`, within the limits.
policy_action with_residual(policy_action base, const policy_action& raw, double part);

/// Means and deviations of a preparation's sights, frozen: a state means the same in every run.
struct frozen_normaliser {
    std::array<double, of_adapter::count> adapter_mean = {}, adapter_deviation = {};
    std::array<double, of_run::count> global_mean = {}, global_deviation = {};

    static frozen_normaliser of(std::span<const policy_observation> seen);
    /// Mean 0 and deviation 1 over the preparation, each number within ±5; one that never changed is 0.
    policy_observation operator()(const policy_observation& seen) const;
};

/// How far a sight lies from those of the preparation: Mahalanobis, of the run's features beside the adapters' mean
/// ones, normalised. The policy's own last moves are left out: what it did makes no run strange.
struct residual_guard {
    static constexpr std::size_t of_adapters = of_adapter::rate, of_runs = of_run::rate;  ///< the features before
    static constexpr std::size_t size = of_adapters + of_runs;
    std::array<double, size> mean = {};
    std::array<double, size* size> precision = {};
    double reach = 0;  ///< squared distance that 99 of 100 sights of the preparation keep within

    static residual_guard of(std::span<const policy_observation> normalised);
    double squared_distance(const policy_observation& normalised) const;
    /// The residual's part: 1 within reach, falling as reach over the squared distance beyond.
    double part(const policy_observation& normalised) const;
};

/// What an actor says of one normalised sight, before squashing.
struct raw_policy {
    policy_action mean, log_sigma;
};
raw_policy compute_raw_policy(const set_networks& nets, const at::Tensor& actor, const policy_observation& normalised);
/// A draw of it.
policy_action sampled(const raw_policy& said, splitmix& random);

}  // namespace rldp::rl
