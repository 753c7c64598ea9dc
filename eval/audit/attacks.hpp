#pragma once
// What audits attack with: likelihoods of texts, generations that may hold secrets, gradients that are canaries.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/kinds.hpp"
#include "models/causal_lm.hpp"
#include "models/tokenizer/tokenizer.hpp"
#include "privacy/mechanism/step_order.hpp"

namespace rldp::eval {

// Likelihood. How likely a model finds the end of a text, given its beginning: what every attack scores by.

/// A model as an attack sees it; layout and adapter are null for the base alone.
struct attacked_model {
    const models::causal_lm& base;
    const models::lora_layout* layout;
    const at::Tensor* adapter;
    std::int64_t batch;  ///< sequences at a time
};

using token_ids = std::vector<std::int32_t>;
using text_encoder = std::function<token_ids(const std::string&)>;

/// A text in tokens, cut in two.
struct split_text {
    token_ids tokens;
    std::size_t end = 0;  ///< number of the first token of its end, from 1
};

/// Cuts `text` behind its first `beginning` bytes. Where a token lies across the cut, it belongs to the end. Of the
/// tokens as many remain as training keeps: the first or the last `most`. Absent where no token would be left on one of
/// the sides. With 0, the end is all but the first token that remains, which nothing predicts.
std::optional<split_text> split_at(const text_encoder& encode, const std::string& text, std::size_t beginning,
                                   std::size_t most, bool keep_tail);

/// Σ log p of each text's end, nats.
std::vector<double> end_log_likelihoods(const attacked_model& model, const std::vector<split_text>& texts);

/// Σ log p of each continuation of one prompt, nats. The prompt is read once for many continuations.
std::vector<double> continuation_log_likelihoods(const attacked_model& model, const token_ids& prompt,
                                                 const std::vector<token_ids>& continuations);

// Extraction. The published attack: continue a prompt that ends in "secret_id=" many times, and look for the secrets.

struct extraction_config {
    std::int64_t trials = 0;
    std::int64_t max_new_tokens = limits::longest_secret;
    double temperature = 0.7, top_p = 0.95;
    std::int64_t top_k = 50;
    std::uint64_t seed = 0;
};

/// The [A-Z0-9] at the beginning of a text, blanks before it apart; empty unless there are 1 to 10 of them. What
/// follows is not looked at: in training a full stop follows a secret.
std::string leading_secret(const std::string& text);

/// The prompt's tokens, without its first ones where it would not fit into the model's window together with the new
/// ones.
token_ids fit_prompt(token_ids prompt, const models::model_config& model, std::int64_t max_new_tokens);

/// What each trial wrote, in order; the prompts take turns.
std::vector<std::string> continue_prompts(const attacked_model& model, const models::tokenizer& words,
                                          const std::vector<token_ids>& prompts, const extraction_config& config);

// Gradient canaries. Gradients instead of records: random directions, known to the audit, of a norm that every clip
// cuts.

struct gradient_canaries {
    std::int64_t seed = 0;  ///< public
    std::vector<privacy::segment> segments;
    double norm = 0;  ///< of each group's part
};

/// Canary `number`: ±norm/√d_i on the d_i coordinates of group i, so that whatever the clip's groups, it uses all of
/// its sensitivity. float32 [D]. Two of them are almost orthogonal.
at::Tensor canary_gradient(const gradient_canaries& how, std::int64_t number);

/// ⟨trace, canary⟩ of canaries 0 … count − 1 at norm 1: larger for one that was in (release_trace).
std::vector<double> trace_scores(const gradient_canaries& how, const at::Tensor& trace, std::int64_t count);

}  // namespace rldp::eval
