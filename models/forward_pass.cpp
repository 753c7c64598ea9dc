#include "models/forward_pass.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"

namespace rldp::models {

namespace {

// [b, T, K, d] as [b·K, T, d].
at::Tensor by_head(const at::Tensor& t) {
    return t.transpose(1, 2).reshape({t.size(0) * t.size(2), t.size(1), t.size(3)});
}

}  // namespace

attention_memory::attention_memory(const model_config& config, std::vector<std::int64_t> prompt_lengths,
                                   std::int64_t samples, std::int64_t most_new)
    : lengths_(std::move(prompt_lengths)),
      samples_(samples),
      most_new_(most_new),
      kv_heads_(config.kv_heads),
      sliding_window_(config.sliding_window),
      layers_(static_cast<std::size_t>(config.layers)) {
    for (std::int64_t layer = 0; layer < config.layers; ++layer) rules_.push_back(make_attention_rule(config, layer));
    for (const auto length : lengths_) {
        if (length < 1) refuse("a prompt has no tokens; give at least one");
        if (most_new > config.window - length)
            refuse(fmt::format("a prompt of {} tokens and {} new ones exceed the model's window of {}; shorten either",
                               length, most_new, config.window));
        longest_ = std::max(longest_, length);
    }
}

at::Tensor attention_memory::next_positions() const {
    const auto lengths = at::tensor(lengths_, at::kLong);
    return (lengths + step_).repeat_interleave(samples_).unsqueeze(1);
}

void attention_memory::keep_prompts(std::size_t layer, const at::Tensor& k, const at::Tensor& v) {
    layer_memory& kept = layers_.at(layer);
    kept.prompt_keys = by_head(k).contiguous();
    kept.prompt_values = by_head(v).contiguous();
    kept.keys = at::empty({rows() * kv_heads_, most_new_, k.size(3)}, k.options());
    kept.values = at::empty_like(kept.keys);
}

// Query at length + step sees prompt key j if j < length and, with a window W, j > length + step - W.
at::Tensor attention_memory::prompt_mask(std::optional<std::int64_t> window, const at::TensorOptions& options) const {
    const bool even = std::all_of(lengths_.begin(), lengths_.end(), [&](auto length) { return length == longest_; });
    if (even && (!window || longest_ + step_ < *window)) return {};
    const auto lengths = at::tensor(lengths_, at::kLong).unsqueeze(1), keys = at::arange(longest_, at::kLong);
    auto hidden = keys >= lengths;
    if (window) hidden = hidden.logical_or(keys <= lengths + step_ - *window);
    const auto mask = at::zeros({prompts(), longest_}).masked_fill_(hidden, -std::numeric_limits<double>::infinity());
    return mask.to(options).view({prompts(), 1, 1, longest_});
}

void attention_memory::grow(layer_memory& layer, const at::Tensor& k, const at::Tensor& v) const {
    layer.keys.select(1, step_).copy_(k.reshape({rows() * kv_heads_, -1}));
    layer.values.select(1, step_).copy_(v.reshape({rows() * kv_heads_, -1}));
}

// One softmax over the keys of the prompt and those that followed it. The samples and query heads that share a prompt's
// keys meet them in one product.
at::Tensor attention_memory::attend(std::size_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    layer_memory& kept = layers_.at(layer);
    grow(kept, k, v);
    const std::int64_t p = prompts(), n = samples_, heads = kv_heads_, d = q.size(3), group = q.size(2) / heads;
    // Between [p, n, K, …] of rows and [p, K, n, …] of prompts.
    const auto shared = [&](const at::Tensor& t) {
        return t.reshape({p, n, heads, group, -1}).transpose(1, 2).reshape({p * heads, n * group, -1});
    };
    const auto apart = [&](const at::Tensor& t) {
        return t.reshape({p, heads, n, group, -1}).transpose(1, 2).reshape({p * n * heads, group, -1});
    };
    const attention_rule& rule = rules_[layer];
    const at::Tensor& mask = rule.window ? sliding_mask_ : mask_;
    const std::int64_t first = rule.window ? std::max<std::int64_t>(0, step_ + 1 - *rule.window) : 0,
                       new_keys = step_ + 1 - first;
    const auto queries = (q * rule.scale).reshape({p * n * heads, group, d});

    const auto old_scores = soft_cap(at::bmm(shared(queries), kept.prompt_keys.transpose(1, 2)), rule.cap);
    if (mask.defined()) old_scores.view({p, heads, n * group, longest_}).add_(mask);
    const auto new_scores = soft_cap(at::bmm(queries, kept.keys.narrow(1, first, new_keys).transpose(1, 2)), rule.cap);
    const auto weights = at::softmax(at::cat({old_scores, shared(new_scores)}, -1), -1);
    const auto from_prompt = at::bmm(weights.narrow(-1, 0, longest_), kept.prompt_values);
    const auto from_new =
        at::bmm(apart(weights.narrow(-1, longest_, new_keys)), kept.values.narrow(1, first, new_keys));
    return (apart(from_prompt) + from_new).view({rows(), -1});
}

void attention_memory::advance() {
    ++step_;
    const auto options = layers_.front().keys.options();
    const bool any_full = std::any_of(rules_.begin(), rules_.end(), [](const auto& rule) { return !rule.window; });
    if (any_full) mask_ = prompt_mask({}, options);
    if (sliding_window_) sliding_mask_ = prompt_mask(sliding_window_, options);
}

at::Tensor forward_pass::attend(std::size_t layer, const at::Tensor& q, const at::Tensor& k,
                                const at::Tensor& v) const {
    if (memory && memory->has_prompts()) return memory->attend(layer, q, k, v);
    if (memory) memory->keep_prompts(layer, k, v);
    const layer_kind& kind = find_layer_kind(layer);
    return models::attend(q, k, v, kind.mask, kind.rule);
}

}  // namespace rldp::models
