#pragma once
// What a net adds to a base policy: nets for any number of adapters, and how their numbers become an action.
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rl/prepared/environment.hpp"
#include "rl/prepared/splitmix.hpp"

namespace rldp::rl {

// Nets. Over the set of a run's adapters: one encoder for each, the mean over them, heads. The same weights serve any
// number of adapters, in any order. Functions of flat float32 parameter vectors, as in rl/networks.hpp.

/// b runs, padded to n adapters each.
struct adapter_set {
    at::Tensor adapters;  ///< [b, n, P]
    at::Tensor present;   ///< [b, n]: 1 for an adapter, 0 for padding
    at::Tensor global;    ///< [b, G]
};

/// What an actor says, before it is squashed by tanh.
struct set_action {
    at::Tensor global;    ///< [b, 1]: of the common rate
    at::Tensor adapters;  ///< [b, n, 1]: of each adapter's own
};

/// Zeros, for `adapters` at most.
adapter_set empty_sets(std::int64_t rows, std::int64_t adapters);
set_action empty_actions(std::int64_t rows, std::int64_t adapters);
/// Writes an observation or an action over a row.
void put(const adapter_set& into, std::int64_t row, const policy_observation& seen);
void put(const set_action& into, std::int64_t row, const policy_action& chosen);
/// A row as an action for `adapters`.
policy_action action_at(const set_action& from, std::int64_t row, std::size_t adapters);

/// Independent Gaussians.
struct set_gaussian {
    set_action mean, log_sigma;
    set_action sample(const at::Generator& generator) const;  ///< reparameterised
    /// [b]: of the common number, plus the mean over adapters of theirs, so that a temperature means the same for any
    /// n.
    at::Tensor log_density(const set_action& of, const at::Tensor& present) const;
    /// [b]: of all of them together.
    at::Tensor joint_log_density(const set_action& of, const at::Tensor& present) const;
};

class set_networks {
  public:
    explicit set_networks(std::int64_t hidden);

    /// Means of zero, whatever is seen: a policy that adds nothing yet.
    at::Tensor initial_actor(const at::Generator& generator) const;
    at::Tensor initial_critics(const at::Generator& generator) const;
    std::int64_t actor_size() const;
    std::int64_t hidden() const { return actor_.front().out; }

    /// log σ is within [−5, 0].
    set_gaussian policy(const at::Tensor& actor, const adapter_set& seen) const;
    /// Twin critics, [b] each. They see actions squashed: beyond all that was tried they would promise anything.
    std::array<at::Tensor, 2> values(const at::Tensor& critics, const adapter_set& seen, const set_action& of) const;

  private:
    struct layer {
        std::int64_t in, out;
    };
    using layers = std::vector<layer>;
    static at::Tensor initial(const layers& all, std::size_t zeroed, const at::Generator& generator);
    static std::int64_t compute_size(const layers& all);
    static std::vector<at::Tensor> unpack(const at::Tensor& flat, const layers& all);
    layers actor_, critic_;
};

// Residual. How a net's numbers become an action: added to a base policy's, squashed, and less so the farther a run
// lies from all that was seen in preparation.

/// The most that a residual adds to a log rate.
inline const double most_added_rate = std::log(2.0);

/// `base` plus `part`, in [0, 1], of the squashed `raw`, within the limits.
policy_action with_residual(policy_action base, const policy_action& raw, double part);

/// Means and deviations of a preparation's observations, frozen: a state means the same in every run.
struct frozen_normaliser {
    std::array<double, of_adapter::count> adapter_mean = {}, adapter_deviation = {};
    std::array<double, of_run::count> global_mean = {}, global_deviation = {};

    static frozen_normaliser of(std::span<const policy_observation> seen);
    /// Mean 0 and deviation 1 over the preparation, each number within ±5; one that never changed is 0.
    policy_observation operator()(const policy_observation& seen) const;
};

/// How far an observation lies from those of the preparation: Mahalanobis, of the run's features beside the adapters'
/// mean ones, normalised. The policy's own last actions are left out: what it did makes no run strange.
struct residual_guard {
    static constexpr std::size_t of_adapters = of_adapter::rate, of_runs = of_run::rate;  ///< the features before
    static constexpr std::size_t size = of_adapters + of_runs;
    std::array<double, size> mean = {};
    std::array<double, size* size> precision = {};
    double reach = 0;  ///< squared distance that 99 of 100 observations of the preparation keep within

    static residual_guard of(std::span<const policy_observation> normalised);
    double squared_distance(const policy_observation& normalised) const;
    /// The residual's part: 1 within reach, falling as reach over the squared distance beyond.
    double part(const policy_observation& normalised) const;
};

/// What an actor says of one normalised observation, before squashing.
struct raw_policy {
    policy_action mean, log_sigma;
};
raw_policy compute_raw_policy(const set_networks& nets, const at::Tensor& actor, const policy_observation& normalised);
/// A draw of it.
policy_action sampled(const raw_policy& said, splitmix& random);

}  // namespace rldp::rl
