#include "models/sampling.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "config/base/error.hpp"

namespace rldp::models {

namespace {

std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

std::vector<std::int32_t> to_tokens(const at::Tensor& ids) {
    const auto narrow = ids.flatten().to(at::kInt).contiguous();
    const auto* data = narrow.data_ptr<std::int32_t>();
    return {data, data + narrow.numel()};
}

// Running sums of probabilities in falling order, those outside top-k and top-p left out.
at::Tensor running_sums(at::Tensor p, const sampling& how) {
    auto sums = p.cumsum(1);
    if (how.top_p >= 1) return sums;
    // A token stays if those before it fall short of p of what top-k left.
    p = p * ((sums - p) < how.top_p * sums.narrow(1, sums.size(1) - 1, 1));
    return p.cumsum(1);
}

}  // namespace

void validate(const sampling& how) {
    if (!(std::isfinite(how.temperature) && how.temperature >= 0))
        refuse(fmt::format("temperature {}: must be 0 (the likeliest token) or a positive number", how.temperature));
    if (how.top_k < 0) refuse(fmt::format("top-k {}: must be 0 (all tokens) or a positive whole number", how.top_k));
    if (!(how.top_p > 0 && how.top_p <= 1)) refuse(fmt::format("top-p {}: must be above 0 and at most 1", how.top_p));
}

std::vector<std::int32_t> sample(const at::Tensor& logits, const sampling& how, const std::vector<double>& uniform) {
    const at::NoGradGuard no_grad;
    const auto scores = logits.cpu().to(at::kDouble);
    if (how.temperature == 0) return to_tokens(scores.argmax(1));
    const std::int64_t vocabulary = scores.size(1);
    const std::int64_t kept = how.top_k > 0 ? std::min(how.top_k, vocabulary) : vocabulary;
    const bool ordered = kept < vocabulary || how.top_p < 1;
    at::Tensor values = scores, ids;
    if (ordered) std::tie(values, ids) = scores.topk(kept, 1);
    // Less the largest before the division, so that no temperature overflows.
    const auto highest = std::get<0>(values.max(1, true));
    const auto sums = running_sums(((values - highest) / how.temperature).exp(), how);
    const auto total = sums.narrow(1, kept - 1, 1);
    const auto wanted = at::tensor(uniform, at::kDouble).unsqueeze(1) * total;
    // The first token whose running sum is above the wanted one; rounding never leads past the last that has any.
    const auto chosen = (sums <= wanted).logical_and(sums < total).sum(1, true);
    return to_tokens(ordered ? ids.gather(1, chosen) : chosen);
}

double uniform_number(std::uint64_t seed, std::uint64_t sample, std::uint64_t step) {
    return static_cast<double>(mixed(mixed(mixed(seed) + sample) + step) >> 11) * 0x1p-53;
}

}  // namespace rldp::models
