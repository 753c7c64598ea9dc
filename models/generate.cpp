#include "models/generate.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>

#include "config/base/error.hpp"
#include "models/attention_memory.hpp"

namespace rldp::models {

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
