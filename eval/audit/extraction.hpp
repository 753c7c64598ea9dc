#pragma once
// The published extraction attack: continue a prompt that ends in "secret_id=" many times, and look for the secrets.
#include <cstdint>
#include <string>
#include <vector>

#include "config/base/limits.hpp"
#include "eval/audit/likelihood.hpp"
#include "models/tokenizer/tokenizer.hpp"

namespace rldp::eval {

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

}  // namespace rldp::eval
