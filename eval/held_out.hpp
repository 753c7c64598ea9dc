#pragma once
// How well a model knows records that it never saw.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "models/causal_lm.hpp"
#include "models/unit_gradients.hpp"
#include "privacy/mechanism/look.hpp"
#include "run/artifacts/metrics.hpp"

namespace rldp::eval {

/// Held-out records whose value in one column a model is asked for: each of the column's clauses is put in its place.
struct choices {
    std::string column = {};
    bool declared = false;                  ///< clauses came from no record: looks tell hits
    std::vector<std::string> clauses = {};  ///< what stands for a value, in the order of the text
    std::vector<std::size_t> records = {};  ///< which of the sequences can be asked
    std::vector<std::size_t> truth = {};    ///< of each of them
    std::vector<std::vector<models::sequence>> alternatives = {};  ///< [record][clause]
};

/// Records of units that are protected as those of training are: trusted wherever they travel.
struct held_out {
    std::vector<models::sequence> sequences;  ///< of two tokens or more; tokens that carry a value are marked
    std::vector<std::size_t> first = {};      ///< of each unit, its first sequence, and behind the last unit the end
    std::int64_t bytes = 0;                   ///< of the text that all predicted tokens stand for
    bool answers_only = false;                ///< marked tokens alone are predicted, else all but the first
    /// Nats per record that a model would lose on the values which knew how often each column has each value, from the
    /// other held-out records, and nothing of how columns depend on each other. Absent for text, and where records were
    /// cut or changed by the tokenizer.
    std::optional<double> marginal_nats = {};
    std::optional<choices> target = {};

    /// Of a model that has that perplexity on the sequences.
    double bits_per_byte(double perplexity) const;
    /// Of one that knows the template by heart and loses marginal_nats on the values; absent as those.
    std::optional<double> template_perplexity() const;
};

/// Of one adapter: exact, or as a look released it (docs/privacy.md §13).
struct scores {
    /// Exact: exp of the mean negative log-likelihood per predicted token. Of a look: exp of the mean over units of
    /// the mean over a unit's records of that.
    double perplexity = 0;
    /// Per record that has any, of the tokens that carry a value; absent where none is marked. Exact scores alone.
    std::optional<double> value_nats = {};
    std::optional<double> value_token_nats = {};  ///< of a look: the mean over units, per token that carries a value
    std::optional<double> bits_per_byte = {};     ///< exact scores alone
    std::optional<double> accuracy = {};          ///< of a look: the mean over units, of eval.target
    std::optional<interval> perplexity_in = {}, value_token_nats_in = {}, accuracy_in = {};  ///< of a look alone
};

/// Puts them into a line of the run log.
void put(metrics_line& to, const scores& found);
/// Out of a line that has some.
scores scores_in(const metrics_line& line);

/// What exact scores are compared with: see run_summary.
struct floors {
    std::optional<double> template_perplexity, marginal_nats;
};

struct prediction {
    double auc = 0;     ///< of two values; of more, the mean over those of each against the rest
    interval auc_in{};  ///< at 95 %, for as many records (Hanley and McNeil 1982)
    std::int64_t records = 0;
    double accuracy = 0;  ///< share of records whose true value is the likeliest
};

struct scoring {
    std::int64_t batch = 1;     ///< sequences at a time, of similar length
    bool answers_only = false;  ///< of marked tokens alone
    bool skip_failing = false;  ///< a batch that can't be computed predicts nothing, unless made-up tokens fail, too
    int lanes = 1;              ///< of batches that are under way at once, each on a thread
    std::stop_token stop = {};  ///< looked at between batches
};

/// Over all `sequences`. `adapter` may be null (the base alone). Errors: bad_input where there is no token to predict;
/// interrupted once a stop is asked for.
scores score_held_out(const models::causal_lm& model, const models::lora_layout* layout, const at::Tensor* adapter,
                      const std::vector<models::sequence>& sequences, const scoring& how);

struct looked {
    std::vector<privacy::unit_look> units;  ///< those with a record that predicts something
    scores exact;                           ///< of the same passes, for the owner's eyes
};

/// Each record in a pass of its own: a unit's figures are the same bits in any company. Errors: as of score_held_out.
looked look_at(const models::causal_lm& model, const models::lora_layout* layout, const at::Tensor* adapter,
               const held_out& records, const scoring& how);

/// Bayes' rule over a record's alternatives, by the likelihood of the whole text. Absent where all records have one
/// value, and where a likelihood is not finite, as of an adapter that diverged. Errors: interrupted, as above.
std::optional<prediction> predict(const models::causal_lm& model, const models::lora_layout* layout,
                                  const at::Tensor* adapter, const choices& among, const scoring& how);

}  // namespace rldp::eval
