#pragma once
// How likely a model finds the end of a text, given its beginning: what every attack scores by.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/causal_lm.hpp"

namespace rldp::eval {

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

}  // namespace rldp::eval
