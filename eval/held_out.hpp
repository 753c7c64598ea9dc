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

namespace rldp::eval {

/// Held-out records whose value in one column a model is asked for: each of the column's clauses is put in its place.
struct choices {
    std::string column;
    std::vector<std::string> clauses;                         ///< what stands for a value, in the order of the text
    std::vector<std::size_t> truth;                           ///< of each record
    std::vector<std::vector<models::sequence>> alternatives;  ///< [record][clause]
};

struct held_out {
    std::vector<models::sequence> sequences;  ///< of two tokens or more; tokens that carry a value are marked
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

/// Of one adapter. Numbers of held-out units, which lie outside of the contract: shown, and steering nothing.
struct scores {
    double perplexity = 0;  ///< exp of the mean negative log-likelihood per predicted token
    std::optional<double> value_nats =
        {};  ///< per record that has any, of the tokens that carry a value; absent where none is marked
};

struct prediction {
    double auc = 0;       ///< of two values; of more, the mean over those of each against the rest
    double accuracy = 0;  ///< share of records whose true value is the likeliest
};

struct scoring {
    std::int64_t batch = 1;     ///< sequences at a time, of similar length
    bool answers_only = false;  ///< of marked tokens alone
    std::stop_token stop = {};  ///< looked at between batches
};

/// Over all `sequences`. `adapter` may be null (the base alone). Errors: bad_input where there is no token to predict;
/// interrupted once a stop is asked for.
scores score_held_out(const models::causal_lm& model, const models::lora_layout* layout, const at::Tensor* adapter,
                      const std::vector<models::sequence>& sequences, const scoring& how);

/// Bayes' rule over a record's alternatives, by the likelihood of the whole text. Absent where all records have one
/// value, and where a likelihood is not finite, as of an adapter that diverged. Errors: interrupted, as above.
std::optional<prediction> predict(const models::causal_lm& model, const models::lora_layout* layout,
                                  const at::Tensor* adapter, const choices& among, const scoring& how);

}  // namespace rldp::eval
