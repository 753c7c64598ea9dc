#pragma once
// What a run will do and cost, from public numbers: `rldp check` prints it, the pipeline keeps to it.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/spec.hpp"
#include "models/causal_lm.hpp"
#include "models/unit_gradients.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/accounting/bands.hpp"
#include "privacy/spending/policy.hpp"
#include "rl/prepared/prepared_policy.hpp"
#include "run/inputs.hpp"
#include "run/memory.hpp"

namespace rldp::actors {

// Padding. privacy.pad_batches: every step computes one public number of micro-batches of one shape, so that its
// duration tells nothing of its draw (docs/privacy.md §2).

struct padding {
    std::int64_t units = 0;  ///< room of every step; more than that are drawn hardly ever, and such a step takes longer
    models::unit_shape shape;
    /// What larger draws add to δ over the run, or all runs of a tuning: T·p·(1 + e^ε), where a step's draw exceeds the
    /// room with probability p. On either of two neighbouring data sets of at most N units, audit.canaries besides, the
    /// durations differ from those of a run without larger draws with probability T·p at most.
    double delta = 0;
};

/// The least room for which larger draws take at most δ/100; nothing without pad_batches. `max_tokens` per record.
std::optional<padding> choose_padding(const config::run_spec& spec, std::int64_t max_tokens);

/// Of one rank: each unit drawn is its with probability 1/ranks, and that any rank's share exceeds its room is no
/// likelier than that the draw exceeds `all`'s.
padding padding_of_rank(const padding& all, const config::run_spec& spec, std::size_t ranks);

// Plan. How the budget is spent, what is computed and what it takes.

/// What as_published prints for a list of runs, and what those are worth (docs/privacy.md §9).
struct published_price {
    double printed_formula;    ///< q·√t·(e^{1/σ} − 1) with the last σ: no bound
    double tight_as_released;  ///< pld at σ/√n: s_i = σ·C_i over n groups. Raw observations void even that
};

struct run_plan {
    std::int64_t population = 0;  ///< N, the public constant
    double sample_rate = 0;       ///< q = B/N
    std::int64_t bands = 1;       ///< b: the noise is correlated over so many steps
    /// What a step draws the units of its group at: q, or b times that.
    double step_rate() const { return privacy::compute_group_rate(bands, sample_rate); }
    std::int64_t steps = 0;
    std::int64_t runs = 1;  ///< of this plan, that ε and δ are for together
    double epsilon_budget = 0, delta = 0;
    privacy::look_plan looks = {};  ///< at held-out units; none unless eval.publish is private
    double looked_at = 0;           ///< units that each of them is expected to see, from public numbers
    double look_within = 0;         ///< nats per token: half of the interval of a figure at 95 %, near its centre
    double noise_multiplier = 0;    ///< z_0
    double epsilon_guaranteed = 0;
    std::vector<privacy::phase> committed;  ///< by the policy, in all runs; empty where it chooses as it goes
    std::map<std::string, double>
        epsilon_committed;  ///< of what the policy commits to, or of the steps at z_0, under each accountant
    std::optional<published_price> published;  ///< as_published only
    std::vector<std::string> groups;           ///< adapter names
    std::int64_t trainable_parameters = 0;
    memory_need memory;  ///< where records are as long as max_tokens; with model.shard of so many ranks:
    std::optional<std::int64_t> least_ranks;  ///< that hold the base between them; absent without model.shard, and
                                              ///< where no number does
    std::int64_t max_tokens = 0;
    std::int64_t max_records_per_unit = 1;
    std::optional<padding> padded;                      ///< privacy.pad_batches
    double rounding_margin = 0;                         ///< η
    std::shared_ptr<const rl::prepared_policy> policy;  ///< rl.state prepared
    std::vector<std::string> controller;                ///< sentences on it
    std::vector<config::choice> choices;                ///< of keys that the configuration left open
    std::vector<std::string> warnings;

    /// For the owner's eyes: exact counts of what the training data hold. Nothing of the run depends on them but N,
    /// where none is declared.
    struct private_counts {
        std::int64_t units = 0, records = 0, cut = 0;  ///< cut: records longer than max_tokens
        std::int64_t canaries = 0;                     ///< planted
        std::string book = {};                         ///< which budget book the data have; empty: none
    };
    std::optional<private_counts> counts;  ///< absent where the data are not there
};

/// Whether every unit is computed in passes of its own, so that nobody else's presence moves it by a single bit: on the
/// CPU always, for training moves rounding's effect without bound, from a millionth of a radius to two of them. On a
/// CUDA device in bfloat16 and TF32; in float32 units share passes there, η is charged, and a probe of made-up records
/// watches that it holds (run/rounding.hpp).
bool computes_apart(const config::reading_spec& spec);

/// η of the arithmetic that a run computes with, for its expected batch; 0 where units are computed apart
/// (docs/privacy.md §6).
double compute_rounding_margin(const config::run_spec& spec);

/// How the budget is spent. `ledger_deck`: of a run that is resumed.
std::unique_ptr<privacy::spending_policy> make_spending_policy(const config::run_spec& spec,
                                                               std::vector<privacy::card> ledger_deck = {});

/// How often, and how exactly, held-out units are looked at by a run that guarantees that ε; none where it makes none.
privacy::look_plan choose_looks(const config::run_spec& spec, double epsilon_guaranteed);

/// ε of runs under each of pld, rdp, gdp_clt.
std::map<std::string, double> compute_epsilon(const std::vector<privacy::phase>& runs, double delta);

published_price price_as_published(std::vector<privacy::phase> charged, std::size_t groups, double delta);

/// Errors: bad_input for δ of 1/N or more, a budget that can't be met, padding beyond the machine's memory.
run_plan plan_run(const config::run_spec& spec, const models::model_config& model, const models::lora_layout& layout);

/// The plan for a declared N, of the model's description alone: neither data nor weights are read. Errors: as plan_run.
run_plan plan_without_reading(const config::run_config& config);

/// What one of its `runs` is worth by itself, under the configuration's accountant: ε.
double compute_epsilon_of_one(const config::run_config& config, const run_plan& plan);

/// What was read of the data, for plan.counts.
run_plan::private_counts count_data(const run_data& data);

struct checking {
    bool without_data = false;  ///< plans from privacy.population, for data that lie elsewhere
    /// Where a run is to be made: what the budget book of its data would refuse is refused here.
    std::optional<std::filesystem::path> entered = {};
    on_loading tell = {};
};

/// `rldp check`: reads what a run will read. The weights may be absent where privacy.population is declared; a warning
/// says what a run will need. Errors: as load_data, load_model, plan_run.
run_plan check(config::run_config config, const checking& how = {});

/// With `counts` the private counts too, if there are any.
std::string to_json(const run_plan& plan, bool counts);

}  // namespace rldp::actors
