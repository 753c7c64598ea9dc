#pragma once
// Choosing a token from logits: greedy, temperature, top-k, nucleus (Holtzman et al. 2020).
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace rldp::models {

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

}  // namespace rldp::models
