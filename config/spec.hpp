#pragma once
// A configuration as it is run: nothing is open, and words that it chooses among are types. A function takes the part
// that it needs.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/methods.hpp"

namespace rldp::config {

/// A key that was open: what it is now, as JSON, and why.
struct choice {
    std::string key, value, reason;
};

/// What reading model and records depends on: known before anything is read.
struct reading_spec {
    model_section model;
    std::string device;  ///< cpu | cuda | cuda:N
    lora_section lora;
    std::optional<std::vector<std::string>> parameters;  ///< of the base, trained whole; absent: adapters
    std::int64_t seed = 0;                               ///< public: adapter initialisation, the controller
    data_section data;
    std::optional<std::string> group;                 ///< key column of a group unit; absent: records are the units
    std::int64_t records_per_unit = 1;                ///< at most
    std::optional<std::int64_t> declared_population;  ///< N, where it is declared
    std::optional<std::string> public_path;           ///< records that need no protection
    std::vector<public_use> public_uses;              ///< what they are good for; empty without public_path
    double value_weight = 1;                          ///< of tokens that carry a value, in a record's mean loss
    std::optional<std::string> target;                ///< a column whose value is guessed in held-out records
    std::optional<std::vector<std::string>> classes;  ///< its values, as records tell them
    publication publish = publication::noised;        ///< of held-out units
    std::int64_t eval_records = 0;  ///< held-out units that are looked at, about; where it is open, as many as may be
    audit_section audit;

    bool on_cpu() const { return device == "cpu"; }
    bool trains_base() const { return parameters.has_value(); }
    bool uses_public(public_use what) const;
    /// Whether training wants to know which tokens carry values, or are answers.
    bool marks_training() const { return data.chat || value_weight != 1; }
};

/// Of the contract, and how its budget is spent.
struct privacy_spec {
    double epsilon_budget = 0, delta = 0;
    std::string accountant;
    rldp::semantics semantics = semantics::sound;
    std::string unit;             ///< "record", or the key column of a group
    std::int64_t population = 0;  ///< N
    bool pad_batches = false, acknowledge_no_guarantee = false, accept_large_delta = false;
    std::string book;  ///< see base/data_names.hpp
    policy_kind policy = policy_kind::fixed;
    deck_section deck;
    std::int64_t bands = 1;
    std::int64_t runs = 1;  ///< of a tuning, that (ε, δ) is for together
    bool insecure_reproducible = false;
};

struct clip_spec {
    clip_grouping groups = clip_grouping::flat;
    double initial = 0, min = 0, max = 0;
};

struct method_spec {
    method_kind kind = method_kind::rldp;
    std::string name;
    rldp::allocation allocation = allocation::proportional;
    double statistics_share = 0;
    // Of the method's own keys; 0 where it has none.
    double quantile = 0, query_noise = 0, stabiliser = 0;
    std::int64_t rank = 0;

    bool steered() const { return kind == method_kind::rldp; }
};

struct train_spec {
    std::int64_t steps = 0;
    std::int64_t expected_batch_size = 0;  ///< B = q·N, units
    std::int64_t micro_batch = 0;          ///< records per forward pass
    optimizer_kind optimizer = optimizer_kind::adamw;
    double lr = 0, public_lr = 0;  ///< of training, 1 where the optimizer finds it; of that on public records
    // Without a meaning where a prepared policy brings a schedule and an average.
    std::int64_t warmup = 0;  ///< steps
    rate_shape schedule = rate_shape::constant;
    double final_lr = 0;
    std::int64_t decay = 0;  ///< steps of wsd's last part
    averaging average = averaging::none;
    double average_window = 0;

    std::int64_t public_steps = 0;  ///< of training on public records
    std::int64_t eval_every = 0;    ///< steps
    std::int64_t looks = 0;         ///< at held-out units, with noise
    double look_clip = 0;           ///< nats per token that a unit may lie from where it is expected; 0 without looks
};

struct controller_spec {
    controller_kind kind = controller_kind::schedule;  ///< also of methods that have no controller
    std::int64_t interval = 0, warmup = 0;             ///< T_RL and T_warm, steps
    double radius_scale = 0;                           ///< radii are relative to so many medians
    bool rescale = false;                              ///< released sums are divided by radii
    std::optional<std::string> file, signer;           ///< of a prepared policy: absent, the shipped one, anyone's
    bool online = false;                               ///< a prepared policy goes on learning
    controller_mode mode = controller_mode::learned;
    std::vector<controller_action> actions;
    rldp::clip_action clip_action = rldp::clip_action::delta;
    std::int64_t batch = 0, updates = 0, replay = 0;  ///< B_SAC transitions, K, transitions kept
    double gamma = 0, alpha = 0, tau = 0, actor_lr = 0, critic_lr = 0;
    double reward_floor = 0;  ///< R_max
};

struct run_spec : reading_spec {
    run_config config;            ///< the same, as files have it
    std::vector<choice> choices;  ///< of what was open
    privacy_spec privacy;
    clip_spec clip;
    method_spec method;
    train_spec train;
    controller_spec controller;
    monitor_section monitor;
    run_section run;
};

reading_spec to_reading_spec(const run_config& config);
clip_spec to_clip_spec(const run_config& config);

/// Of a configuration in which nothing is open, for N units. Errors: bad_input naming a key that still is, as in a
/// public/config.json that somebody has changed, and as planned_steps().
run_spec to_spec(const run_config& config, std::int64_t population);

}  // namespace rldp::config
