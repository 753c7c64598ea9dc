#include "eval/perplexity.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "config/base/error.hpp"

namespace rldp::eval {

double perplexity(const models::causal_lm& model, const models::lora_layout* layout, const at::Tensor* adapter,
                  const std::vector<std::vector<std::int32_t>>& sequences, std::int64_t batch) {
    if (batch < 1) refuse("perplexity: a batch needs at least one sequence");
    // Neighbours of similar length share a batch, so that little is padding. Stable, hence always the same batches.
    std::vector<const std::vector<std::int32_t>*> ordered;
    for (const auto& sequence : sequences)
        if (sequence.size() > 1) ordered.push_back(&sequence);  // a single token predicts nothing
    if (ordered.empty()) refuse("perplexity: no sequence has two tokens or more, so there is nothing to predict");
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const auto* left, const auto* right) { return left->size() < right->size(); });
    double nll = 0;
    std::int64_t tokens = 0;
    const auto step = static_cast<std::size_t>(batch);
    for (std::size_t begin = 0; begin < ordered.size(); begin += step) {
        std::vector<std::vector<std::int32_t>> together;
        for (std::size_t i = begin; i < std::min(begin + step, ordered.size()); ++i) together.push_back(*ordered[i]);
        const auto loss = model.losses(models::make_batch(together), layout, adapter);
        nll += loss.nll.sum().item<double>();
        tokens += loss.tokens.sum().item<std::int64_t>();
    }
    return std::exp(nll / static_cast<double>(tokens));
}

}  // namespace rldp::eval
