#pragma once
// What a run reads before it starts: model, tokenizer, records on their sides. No CAF: check, run and the benchmarks
// use it.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loading.hpp"
#include "config/spec.hpp"
#include "data/units/corpus.hpp"
#include "data/units/load_tokens.hpp"
#include "data/units/token_store.hpp"
#include "eval/held_out.hpp"
#include "models/causal_lm.hpp"
#include "models/tokenizer/tokenizer.hpp"
#include "models/unit_gradients.hpp"
#include "run/artifacts/membership.hpp"

namespace rldp::ranks {
class team;
}

namespace rldp::actors {

class cached_corpus;

/// The data of a run, in clear: belongs on the trusted side but for `held_out`.
struct run_data {
    data::token_store train;
    std::vector<std::uint64_t> train_ids;  ///< by which units are told apart; see token_corpus
    data::held_out_side held_out;          ///< of the Eval side as many as train.eval_records says, or may say
    std::int64_t records = 0, cut = 0;     ///< training records, and how many of them were longer than max_tokens
    std::string digest;                    ///< of the training units; goes out only as an HMAC
    std::string split;                     ///< digest of all units and their sides; for the budget book
    unit_sketches sketches;                ///< by which the budget book knows the table again
    std::vector<eval::membership_record::planted_secret> planted;  ///< data.canaries
    std::vector<data::token_unit> audit_canaries;                  ///< those that may join the training units
    std::vector<std::string> warnings;
};

/// Longest sequence that is kept: data.max_tokens, or the model's window. Errors: bad_input if it exceeds the window.
std::int64_t token_limit(const config::reading_spec& spec, const models::model_config& model);

/// Adapters on lora.targets, or where it is open on what choose_targets() answers; or the tensors of train.parameters.
/// Errors: bad_input for a word that matches nothing.
models::lora_layout choose_layout(const config::reading_spec& spec, const models::model_config& model);

/// data.path, by privacy.unit.
data::source private_source(const config::reading_spec& spec);

/// The template as anybody may have it, where it declares a schema. Errors: bad_input.
std::optional<std::string> publish_template(const config::reading_spec& spec);

/// A warning where it declares a schema by which no rows can be made with this tokenizer and model: training goes on,
/// but `rldp synthesize` will refuse. Public: it follows from the template and the model. Errors: publish_template's.
std::optional<std::string> doubt_rows(const config::reading_spec& spec, const models::tokenizer& words,
                                      const models::model_config& model);

/// Before a plan: the files of records are there, with the template and the columns that they are read by, or
/// `without_data` N is declared. Errors: bad_input.
void check_sources(const config::reading_spec& spec, bool without_data);

/// Who trains, in a shadow run too.
data::split_rule make_training_split(const config::reading_spec& spec);

/// public.path, each record a unit. Only where it is given.
data::source public_source(const config::reading_spec& spec);

/// Reads, verbalises, splits, tokenises, on all cores and without ever holding the texts; or finds that done in
/// `kept`, and else leaves it there. Errors: bad_input, one line each.
run_data load_data(const config::reading_spec& spec, const models::tokenizer& tokens, std::int64_t max_tokens,
                   cached_corpus* kept, const on_loading& tell = {});

/// Whom an audit looks at. Trusted.
struct audit_pool {
    data::audited_units units;         ///< targets by the run's split; of a shadow run, its own carriers
    std::vector<data::unit> canaries;  ///< those that may have joined the training units
    std::string digest;                ///< as run_data's
};
/// Read as load_data reads, without a token. Errors: bad_input, one line each.
audit_pool load_audit_pool(const config::reading_spec& spec);

/// The fixed subset of the Eval side that is evaluated: the first spec.eval_records of `side`. Errors: as of the
/// other make_held_out.
eval::held_out make_held_out(const config::reading_spec& spec, data::held_out_side side,
                             const models::tokenizer& tokens, std::int64_t max_tokens);

/// The tokenizer beside a model. Errors: bad_input where it can give a token that the model has no embedding for,
/// whether or not a record holds one: else one record could end a run when it is drawn (docs/privacy.md §2).
std::unique_ptr<const models::tokenizer> load_tokenizer(const config::reading_spec& spec,
                                                        const models::model_config& model);

/// A model's weights, as they were read once.
struct read_weights {
    std::string facts;   ///< of their files: names, sizes, inodes, times
    std::string digest;  ///< of what they hold, in hex
};

/// Of the files that hold the weights in a model's directory.
std::string weight_file_facts(const std::filesystem::path& directory);

struct run_model {
    std::shared_ptr<const models::causal_lm> base;
    models::lora_layout layout;
    at::Tensor initial_adapter;  ///< [D] float32 on the device; of whole tensors the base's own numbers
    std::vector<double> public_norms =
        {};  ///< medians of public unit gradients' norms per group, where they are asked for
    std::vector<models::sequence> public_sample = {};  ///< public records that judge adapters; none without public.path
    read_weights weights = {};
    std::string digest = {};  ///< of the weights and every other file that loading reads, in hex; where it is asked for
};

struct model_reading {
    bool identify = false;        ///< run_model.digest is wanted
    ranks::team* team = nullptr;  ///< whose ranks share the base, where model.shard says so
    bool in_passing = false;      ///< one pass is made: where model.shard says so, few layers are held at a time
    std::optional<read_weights> known = {};  ///< weights whose files have these facts are not looked through again
    on_loading tell = {};
};
run_model load_model(const config::reading_spec& spec, const model_reading& how = {});
/// Errors: bad_input where a base is to be quantized that is so already, is to be trained itself, or lies on a card.
void check_quantization(const config::reading_spec& spec, const models::model_config& model);

/// One forward and backward pass over made-up tokens, before anything is charged: errors with bad_input naming `path`
/// where the loss is not finite or an adapter gets no gradient, for no budget can train such a model.
void check_gradients(const run_model& model, const std::string& path);

/// Errors: bad_input for one that LibTorch does not see.
at::Device resolve_device(const config::reading_spec& spec);

}  // namespace rldp::actors
