#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "base/error.hpp"
#include "models/forward_pass.hpp"
#include "models/generate.hpp"

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

namespace {

using results = std::vector<std::vector<continuation>>;

void validate(const generation_config& config) {
    models::validate(config.how);
    if (config.max_new_tokens < 1) refuse(fmt::format("{} new tokens: at least 1 is needed", config.max_new_tokens));
    if (config.samples < 1) refuse(fmt::format("{} samples: at least 1 is needed", config.samples));
    if (config.alternatives < 0) refuse(fmt::format("{} alternatives: must be 0 or more", config.alternatives));
}

bool stops(const generation_config& config, std::int32_t token) {
    return std::find(config.stop.begin(), config.stop.end(), token) != config.stop.end();
}

/// Prompts that are generated together, each with all its samples.
class generation {
  public:
    generation(const causal_lm& model, const lora_layout* layout, const at::Tensor* adapter,
               std::span<const prompt> prompts, const generation_config& config)
        : model_(model), layout_(layout), adapter_(adapter), prompts_(prompts), config_(config) {}

    results run() {
        attention_memory memory(model_.config(), lengths(), config_.samples, config_.max_new_tokens);
        results_.assign(prompts_.size(), std::vector<continuation>(static_cast<std::size_t>(config_.samples)));
        running_ = static_cast<std::size_t>(memory.rows());
        auto logits = read(memory, prompt_ids());
        for (std::int64_t step = 0;; ++step) {
            const auto tokens = sample(logits, config_.how, uniform_numbers(step));
            append(tokens, alternatives(logits));
            if (running_ == 0 || step + 1 == config_.max_new_tokens) return std::move(results_);
            // Rows that have ended go on, unheard.
            logits = read(memory, at::tensor(tokens, at::kInt).to(at::kLong).unsqueeze(1));
        }
    }

  private:
    at::Tensor read(attention_memory& memory, const at::Tensor& ids) const {
        return model_.extend(memory, ids, layout_, adapter_).cpu();
    }

    std::vector<std::int64_t> lengths() const {
        std::vector<std::int64_t> result;
        for (const auto& prompt : prompts_) result.push_back(static_cast<std::int64_t>(prompt.ids.size()));
        return result;
    }

    at::Tensor prompt_ids() const {
        std::vector<std::vector<std::int32_t>> sequences;
        for (const auto& prompt : prompts_) sequences.push_back(prompt.ids);
        return make_batch(sequences).ids;
    }

    std::vector<double> uniform_numbers(std::int64_t step) const {
        std::vector<double> numbers;
        for (const auto& prompt : prompts_)
            for (std::int64_t s = 0; s < config_.samples; ++s)
                numbers.push_back(
                    uniform_number(prompt.seed, static_cast<std::uint64_t>(s), static_cast<std::uint64_t>(step)));
        return numbers;
    }

    using row_alternatives = std::vector<std::vector<continuation::alternative>>;
    row_alternatives alternatives(const at::Tensor& logits) const {
        if (config_.alternatives == 0) return {};
        const auto log_p = at::log_softmax(logits.to(at::kDouble), 1);
        const auto [values, ids] = log_p.topk(std::min(config_.alternatives, log_p.size(1)), 1);
        const auto value = values.accessor<double, 2>();
        const auto id = ids.accessor<std::int64_t, 2>();
        row_alternatives rows(static_cast<std::size_t>(values.size(0)));
        for (std::int64_t row = 0; row < values.size(0); ++row)
            for (std::int64_t i = 0; i < values.size(1); ++i)
                rows[static_cast<std::size_t>(row)].push_back({static_cast<std::int32_t>(id[row][i]), value[row][i]});
        return rows;
    }

    void append(const std::vector<std::int32_t>& tokens, const row_alternatives& likely) {
        const auto samples = static_cast<std::size_t>(config_.samples);
        for (std::size_t row = 0; row < tokens.size(); ++row) {
            continuation& text = results_[row / samples][row % samples];
            if (text.stopped || text.ended) continue;
            text.ids.push_back(tokens[row]);
            if (!likely.empty()) text.alternatives.push_back(likely[row]);
            text.stopped = stops(config_, tokens[row]);
            text.ended = !text.stopped && config_.ends && config_.ends(text);
            if (text.stopped || text.ended) --running_;
        }
    }

    const causal_lm& model_;
    const lora_layout* layout_;
    const at::Tensor* adapter_;
    std::span<const prompt> prompts_;
    const generation_config& config_;
    results results_;
    std::size_t running_ = 0;  ///< rows without a stop token
};

// So many prompts at once that products are large and memory stays small, whatever the caller brings.
std::size_t prompts_at_once(const std::vector<prompt>& prompts, std::int64_t samples) {
    constexpr std::size_t most_tokens = 8192, most_rows = 256;
    std::size_t longest = 1;
    for (const auto& prompt : prompts) longest = std::max(longest, prompt.ids.size());
    return std::max<std::size_t>(1, std::min(most_tokens / longest, most_rows / static_cast<std::size_t>(samples)));
}

}  // namespace

results generate(const causal_lm& model, const lora_layout* layout, const at::Tensor* adapter,
                 const std::vector<prompt>& prompts, const generation_config& config) {
    validate(config);
    results all;
    const std::size_t step = prompts_at_once(prompts, config.samples);
    for (std::size_t begin = 0; begin < prompts.size(); begin += step) {
        const auto part = std::span(prompts).subspan(begin, std::min(step, prompts.size() - begin));
        for (auto& texts : generation(model, layout, adapter, part, config).run()) all.push_back(std::move(texts));
    }
    return all;
}

}  // namespace rldp::models
