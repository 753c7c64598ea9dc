#pragma once
// What a run is told: one struct per section of the configuration file, and how that is read, checked and written. The
// schema (schema.hpp) gives every key its unit, range and sentence; defaults are those of the members.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/data_names.hpp"
#include "base/guarantee.hpp"
#include "base/kinds.hpp"
#include "base/optimizer_kind.hpp"

namespace rldp::config {

/// An attacker's success that is bounded beside (ε, δ): both given, or neither.
struct risk_section {
    std::optional<double> fpr, tpr;
    bool given() const { return fpr && tpr; }
};

struct privacy_section {
    double epsilon = 8;  ///< at most, where `risk` is given: it is settled to what keeps that
    double delta = 1e-5;
    risk_section risk;
    std::string accountant = "pld";  ///< pld | rdp | gdp_clt (the last only under as_published)
    rldp::semantics semantics = rldp::semantics::sound;
    std::string unit = "record";             ///< "record", or the key column of a group: JSON {"group": "patient_nbr"}
    bool unit_is_group = false;              ///< true if `unit` names a group's key column
    std::optional<std::int64_t> population;  ///< N, a declared public constant; default: the number of training units
    std::int64_t max_records_per_unit = 16;  ///< of a group unit; a keyed subset of larger ones
    bool pad_batches = false;                ///< every step the same public number of micro-batches
    bool acknowledge_no_guarantee = false;   ///< as_published needs it
    bool accept_large_delta = false;         ///< δ ≥ 1/N needs it
    std::optional<std::string> book;         ///< the data's budget book: see base/data_names.hpp, and load()
    std::int64_t runs = 1;                   ///< of one tuning, that the contract pays for together
};

struct deck_section {
    std::int64_t levels = 8;
    double ratio = 1.25;  ///< largest over smallest noise multiplier of the deck
    bool operator==(const deck_section&) const = default;
};

struct noise_section {
    std::optional<policy_kind> policy;           ///< sound ones; default by method, and by rl.state (methods.hpp)
    std::optional<rldp::allocation> allocation;  ///< default by rl.state
    std::optional<double>
        statistics_share;  ///< part of 1/z² spent on statistics, [0, 1); default by method (methods.hpp)
    deck_section deck;
    std::optional<std::int64_t> bands;   ///< noise is correlated over so many steps; 1 is independent noise
    bool insecure_reproducible = false;  ///< draws, dropout and noise from `seed`: no guarantee, for tests
};

struct clip_section {
    std::optional<clip_grouping> groups;  ///< default by method (methods.hpp)
    std::optional<double> initial;        ///< default by method (methods.hpp)
    double min = 1e-3;
    double max = 1;
};

/// Records that need no protection, and what they are used for.
struct public_section {
    std::optional<std::string> path;  ///< as data.path, through the same template
    std::vector<public_use> use = {public_use::warm_start};
    std::int64_t steps = 100;  ///< of training on them, without noise
    std::optional<double> lr;  ///< of that training; default: train.lr, or as that is chosen where it has no meaning

    bool used_for(public_use what) const { return path && std::find(use.begin(), use.end(), what) != use.end(); }
    bool trained_on() const { return used_for(public_use::warm_start) || used_for(public_use::radii); }
};

struct method_section {
    std::string name = "rldp";  ///< rldp, or one of the baselines, which have no controller
    std::optional<double> quantile, query_noise, stabiliser;
    std::optional<std::int64_t> rank;
};

/// Where neither steps nor epochs are given.
constexpr double default_epochs = 3;

struct train_section {
    std::optional<double> epochs;  ///< giving steps, too, is an error
    std::optional<std::int64_t> steps;
    // Without a default: chosen for the run at hand (open_keys.hpp).
    std::optional<std::int64_t> expected_batch_size;     ///< B = q·N, units
    std::optional<std::int64_t> micro_batch;             ///< records per forward pass
    std::optional<std::vector<std::string>> parameters;  ///< of the base, trained whole; absent: LoRA adapters
    optimizer_kind optimizer = optimizer_kind::adamw;    ///< what takes the steps
    std::optional<double> lr;                            ///< has no meaning for an optimizer that finds its rate
    std::optional<std::int64_t> warmup;                  ///< steps of linear learning-rate warm-up
    std::optional<rate_shape> schedule;                  ///< what follows
    double final_lr = 0;                                 ///< behind the last step
    std::optional<std::int64_t> decay;                   ///< steps of wsd's last part; default: a fifth of them
    averaging average = averaging::none;                 ///< of the iterates, evaluated and saved
    double average_window = 0.2;                         ///< share of the steps
    std::optional<double> value_weight;                  ///< of tokens that carry a value, in a record's mean loss
    std::optional<std::int64_t> eval_every;              ///< steps
    std::optional<std::int64_t> eval_records;            ///< held-out units that are looked at, about

    bool trains_base() const { return parameters.has_value(); }
};

struct data_section {
    std::string path;  ///< CSV, JSONL or text file; "synthetic:N" for N made-up encounters, of another world
                       ///< "synthetic:N@WORLD"
    std::optional<std::string>
        ids_mapping;                       ///< IDs_mapping.csv of the UCI table; default: beside `path` if it is there
    std::optional<std::string> narrative;  ///< template (JSON key "template") that turns a CSV row into prose
    bool chat = false;                     ///< JSON lines of conversations, in the model's chat template
    std::optional<std::int64_t> max_tokens;  ///< default: the model's window
    kept_end keep = kept_end::head;          ///< of a record longer than max_tokens
    std::int64_t canaries = 0;
    std::int64_t canary_length = 10;  ///< characters of [A-Z0-9]
    split_kind split = split_kind::hash;
    std::int64_t split_seed = 42;
    std::optional<std::string> cache;  ///< a directory for the tokens, or no_cache; default: the run's own trusted/
};
inline constexpr std::string_view no_cache = "none";

struct model_section {
    std::string path;                            ///< a Hugging Face model directory, or a GGUF file
    std::optional<std::string> name;             ///< for others, who have it elsewhere; default: model_name(path)
    precision dtype = precision::float32;        ///< of the frozen base, or of products with it
    quantization quantize = quantization::none;  ///< of its linear modules
    bool checkpoint_activations = false;
    std::optional<bool> shard;  ///< the ranks of a run share its layers; open: where one could not hold them all

    bool shares() const { return shard.value_or(false); }
};

struct lora_section {
    std::int64_t rank = 8;
    double alpha = 16;
    double dropout = 0.05;
    std::optional<std::vector<std::string>> targets;  ///< modules that are adapted
};

struct eval_section {
    std::optional<std::string> target;                ///< a column whose value is guessed in held-out records
    std::optional<std::vector<std::string>> classes;  ///< its values, as they are rendered; looks need them
    publication publish = publication::noised;        ///< of held-out units
    std::int64_t looks = 3;                           ///< of publish private
    std::optional<double> clip;                       ///< nats per token that a unit may lie from where it is expected

    /// How many looks there are; 0 where none are noised.
    std::int64_t looks_made() const { return publish == publication::noised ? looks : 0; }
};

struct rl_section {
    std::optional<controller_kind> state;
    std::optional<std::string> controller;  ///< file of a prepared policy; default: the one that ships
    std::optional<std::string> signer;      ///< file of the public key that must have signed it
    std::vector<controller_action> actions = {controller_action::radii, controller_action::noise};
    std::optional<controller_mode> policy;  ///< open: learned, of a prepared policy where it is vouched for
    bool online = false;                    ///< a prepared policy goes on learning
    std::optional<double> radius_scale;     ///< default by semantics (methods.hpp)
    std::optional<bool> rescale;            ///< default: true under sound semantics
    std::optional<std::int64_t> interval;   ///< T_RL, steps
    std::optional<std::int64_t> warmup;     ///< T_warm, steps
    std::int64_t batch = 4;                 ///< B_SAC, transitions
    std::int64_t updates = 2;               ///< K
    double gamma = 0.99;
    double alpha = 0.04;
    double tau = 0.01;
    double actor_lr = 2e-4;
    double critic_lr = 1e-4;
    std::int64_t replay = 10000;
    double reward_floor = 10;  ///< R_max
    rldp::clip_action clip_action = rldp::clip_action::delta;
};

/// What audits need to know before the run: afterwards nothing of it can be chosen to suit the result.
struct audit_section {
    std::int64_t canaries = 0;            ///< extra records, each in training with probability ½
    std::int64_t gradient_canaries = 0;   ///< extra units whose gradients are made up, likewise
    std::int64_t look_canaries = 0;       ///< extra units among those looked at, likewise
    std::optional<std::int64_t> guesses;  ///< r, even; default: half of the canaries of a kind
    double confidence = 0.95;             ///< 1 − β of the lower bound on ε
    std::int64_t targets = 1000;          ///< training units, and as many Attack units, that membership is guessed of
    std::optional<std::string> ending;    ///< where the ending of a record begins; absent: all of it is scored
    std::optional<std::string> prompt;    ///< file with the extraction prompt, {profile} in it
    std::int64_t trials = 4000;           ///< generations per prompt
    std::int64_t references = 1000;       ///< other secrets that a canary's exposure is measured against
    std::optional<std::int64_t> shadow;   ///< number of this shadow run; absent: no shadow
};

struct monitor_section {
    std::optional<std::string> address;  ///< HOST:PORT where live values are served
    std::optional<std::string> http;     ///< [HOST:]PORT of the dashboard
    std::optional<std::string> tls_certificate, tls_key, client_ca, token_file;  ///< its files
    std::vector<std::string> allow_hosts = {"localhost"};                        ///< other names that it is called by
    bool tensorboard = false;                                                    ///< public/tensorboard/
};

/// Of a run over several processes (docs/cluster.md).
struct cluster_section {
    std::optional<std::string> secret;  ///< file that every rank has
    std::int64_t timeout = 60;          ///< seconds that a rank may be silent
};

/// What its owner calls a run. It goes to the public side and steers nothing.
struct run_section {
    std::optional<std::string> name;
    std::optional<std::vector<std::string>> tags;
    std::optional<std::string> notes;
    std::optional<std::string> date;  ///< as 2026-01-31
};

struct run_config {
    privacy_section privacy;
    noise_section noise;
    clip_section clip;
    public_section public_data;  ///< JSON key "public"
    method_section method;
    train_section train;
    data_section data;
    model_section model;
    lora_section lora;
    eval_section eval;
    rl_section rl;
    audit_section audit;
    monitor_section monitor;
    cluster_section cluster;
    run_section run;
    std::string device = "cpu";  ///< cpu | cuda | cuda:N
    std::int64_t seed = 42;      ///< public randomness only: adapter initialisation, SAC
};

/// Reads a configuration file, then applies overrides of the form "dotted.key=json" (a bare word counts as a string).
/// Relative paths in the file are relative to the file, those of overrides to the working directory; both become
/// absolute. Errors (bad_input, one line): missing file, JSON error with line and column, unknown key (names the
/// nearest known one), wrong type, value out of range; then validate(). An open privacy.book is found by what the
/// data hold; one that an earlier version made beside the configuration is gone on with.
run_config load(const std::filesystem::path& file, const std::vector<std::string>& overrides);
/// The same from text; `origin` names it in messages, relative paths are relative to `base`.
run_config parse(const std::string& json, const std::string& origin, const std::filesystem::path& base,
                 const std::vector<std::string>& overrides = {});

/// Checks that concern several keys (steps and epochs both given, as_published without acknowledgement, gdp_clt
/// enforcing a budget under sound semantics, clip.min > clip.initial, …). Throws bad_input naming the key path.
void validate(const run_config& config);

/// The configuration as resolved, every key present, as pretty JSON that parse() reads back, but for a path that is not
/// UTF-8, which is shown.
std::string to_json(const run_config& config);

/// What may be shown of it: to_json() with file names in place of paths. parse() reads it back.
std::string to_public_json(const run_config& config);

/// The paths that to_public_json() leaves out, as overrides: "data.path=/home/…/records.csv".
std::vector<std::string> list_places(const run_config& config);

/// What the ranks of a run must have the same: to_json() without paths, monitor, cluster and run.
std::string common_json(const run_config& config);

/// Steps of the plan: train.steps, or floor(epochs·N/B). Errors: bad_input where that is open, or is no length of a
/// run.
std::int64_t planned_steps(const run_config& config, std::int64_t population);

/// The reference of every key as a Markdown table per section: key, default, unit, range, sentence.
std::string reference_markdown();

/// The same as a JSON Schema (draft 2020-12): config/config.schema.json.
std::string reference_json_schema();

// Problems. Why a configuration is refused.

/// The first thing that is wrong with a configuration, in one line that begins with the key path.
std::optional<std::string> problem(const run_config& config);

/// Of these: steps and epochs both given.
std::optional<std::string> length_problem(const run_config& config);
/// An expected batch larger than the population, declared or found.
std::optional<std::string> rate_problem(const run_config& config, std::int64_t population);

}  // namespace rldp::config
