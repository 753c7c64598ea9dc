#pragma once
// Texts from a model, token by token.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "models/causal_lm.hpp"

namespace rldp::models {

// Sampling. Choosing a token from logits: greedy, temperature, top-k, nucleus (Holtzman et al. 2020).

/// Top-k comes before top-p, both after the temperature, as in Hugging Face's generate.
struct sampling {
    double temperature = 0;  ///< 0: the likeliest token
    std::int64_t top_k = 0;  ///< only the k likeliest; 0: all
    double top_p = 1;        ///< only the fewest likeliest tokens whose probabilities reach p
};

/// Errors: bad_input naming the option.
void validate(const sampling& how);

/// One token per row of logits [b, V], from one number in [0, 1) per row.
std::vector<std::int32_t> sample(const at::Tensor& logits, const sampling& how, const std::vector<double>& uniform);

/// The number in [0, 1) behind token `step` of sample `sample`: a function of these alone (SplitMix64, Steele et al.
/// 2014), so that what else is generated beside it changes nothing.
double uniform_number(std::uint64_t seed, std::uint64_t sample, std::uint64_t step);

// Generation. Texts from a model, token by token, with a key/value cache.

struct continuation;

struct generation_config {
    sampling how;
    std::int64_t max_new_tokens = 32;
    std::int64_t samples = 1;             ///< continuations of each prompt, which is read once
    std::vector<std::int64_t> stop = {};  ///< tokens that end a text, as its last one
    std::int64_t alternatives = 0;        ///< report so many of each step's likeliest tokens
    /// Sees a text after each of its new tokens but a stop token, and says whether it ends there.
    std::function<bool(const continuation&)> ends = {};
};

struct prompt {
    std::vector<std::int32_t> ids;
    std::uint64_t seed = 0;  ///< of its samples
};

struct continuation {
    std::vector<std::int32_t> ids;  ///< the new tokens
    bool stopped = false;           ///< by a stop token
    bool ended = false;             ///< by generation_config::ends; else, and not stopped, by their number

    struct alternative {
        std::int32_t id;
        double log_probability;  ///< natural logarithm, before temperature, top-k and top-p
    };
    std::vector<std::vector<alternative>> alternatives;  ///< per token, likeliest first; empty unless asked for
};

/// Sample s of prompt i is result[i][s]: the same whatever other prompts and samples there are. Errors: bad_input for
/// an option out of range, an empty prompt, a prompt that with the new tokens exceeds the model's window.
std::vector<std::vector<continuation>> generate(const causal_lm& model, const lora_layout* layout,
                                                const at::Tensor* adapter, const std::vector<prompt>& prompts,
                                                const generation_config& config);

}  // namespace rldp::models
