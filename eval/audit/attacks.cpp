#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "data/units/split_and_sampling.hpp"
#include "eval/audit/attacks.hpp"
#include "eval/audit/statistics/secrets.hpp"
#include "models/forward_pass.hpp"
#include "models/generate.hpp"

namespace rldp::eval {

namespace {

constexpr std::int64_t nothing = -100;  // a label that is not predicted

/// The texts of one forward pass, with labels on their ends only.
models::token_batch make_text_batch(const std::vector<split_text>& texts, std::span<const std::size_t> which) {
    std::vector<token_ids> sequences;
    for (const auto i : which) sequences.push_back(texts[i].tokens);
    auto out = models::make_batch(sequences);
    for (std::size_t row = 0; row < which.size(); ++row)
        out.labels[static_cast<std::int64_t>(row)].slice(0, 0, static_cast<std::int64_t>(texts[which[row]].end)) =
            nothing;
    return out;
}

/// Adds log p of each row's token number `step`, for the rows that have one; answers the tokens to read next.
at::Tensor score(const at::Tensor& logits, std::span<const token_ids> rows, std::size_t step, std::span<double> sums) {
    const auto log_p = at::log_softmax(logits.to(at::kDouble).cpu(), 1);
    const auto at_row = log_p.accessor<double, 2>();
    std::vector<std::int64_t> next(rows.size(), 0);  // rows that have ended read something, unheard
    for (std::size_t row = 0; row < rows.size(); ++row) {
        if (step >= rows[row].size()) continue;
        next[row] = rows[row][step];
        sums[row] += at_row[static_cast<std::int64_t>(row)][next[row]];
    }
    return at::tensor(next, at::kLong).unsqueeze(1);
}

}  // namespace

std::optional<split_text> split_at(const text_encoder& encode, const std::string& text, std::size_t beginning,
                                   std::size_t most, bool keep_tail) {
    split_text out{encode(text), 0};
    const auto head = encode(text.substr(0, beginning));
    while (out.end < std::min(head.size(), out.tokens.size()) && head[out.end] == out.tokens[out.end]) ++out.end;
    if (out.tokens.size() > most) {
        const auto excess = out.tokens.size() - most;
        if (keep_tail) {
            out.tokens.erase(out.tokens.begin(), out.tokens.begin() + static_cast<std::ptrdiff_t>(excess));
            out.end = out.end > excess ? out.end - excess : 0;
        } else {
            out.tokens.resize(most);
        }
    }
    if (beginning == 0) out.end = 1;
    if (out.end == 0 || out.end >= out.tokens.size()) return std::nullopt;
    return out;
}

std::vector<double> end_log_likelihoods(const attacked_model& model, const std::vector<split_text>& texts) {
    // Neighbours of similar length share a batch, so that little is padding.
    std::vector<std::size_t> order(texts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return texts[a].tokens.size() < texts[b].tokens.size(); });
    std::vector<double> out(texts.size());
    const auto step = static_cast<std::size_t>(model.batch);
    for (std::size_t begin = 0; begin < order.size(); begin += step) {
        const auto which = std::span(order).subspan(begin, std::min(step, order.size() - begin));
        const auto losses = model.base.losses(make_text_batch(texts, which), model.layout, model.adapter).nll.cpu();
        for (std::size_t row = 0; row < which.size(); ++row)
            out[which[row]] = -losses[static_cast<std::int64_t>(row)].item<double>();
    }
    return out;
}

std::vector<double> continuation_log_likelihoods(const attacked_model& model, const token_ids& prompt,
                                                 const std::vector<token_ids>& continuations) {
    constexpr std::size_t rows_at_once = 512;
    std::vector<double> out(continuations.size(), 0);
    const auto ids = models::make_batch({prompt}).ids;
    for (std::size_t begin = 0; begin < continuations.size(); begin += rows_at_once) {
        const auto rows = std::span(continuations).subspan(begin, std::min(rows_at_once, continuations.size() - begin));
        const auto sums = std::span(out).subspan(begin, rows.size());
        std::size_t longest = 0;
        for (const auto& row : rows) longest = std::max(longest, row.size());
        if (longest == 0) refuse("a continuation without tokens can't be scored");
        models::attention_memory memory(model.base.config(), {std::ssize(prompt)}, std::ssize(rows),
                                        static_cast<std::int64_t>(longest));
        auto next = ids;
        for (std::size_t step = 0; step < longest; ++step)
            next = score(model.base.extend(memory, next, model.layout, model.adapter), rows, step, sums);
    }
    return out;
}

std::string leading_secret(const std::string& text) {
    const auto begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    const auto end = text.find_first_not_of(data::secret_symbols, begin);
    auto out = text.substr(begin, end - begin);
    return secret_like(out) ? out : std::string();
}

token_ids fit_prompt(token_ids prompt, const models::model_config& model, std::int64_t max_new_tokens) {
    const auto room = model.window - max_new_tokens;
    const auto excess = std::max<std::int64_t>(0, std::ssize(prompt) - std::max<std::int64_t>(1, room));
    prompt.erase(prompt.begin(), prompt.begin() + excess);
    return prompt;
}

std::vector<std::string> continue_prompts(const attacked_model& model, const models::tokenizer& words,
                                          const std::vector<token_ids>& prompts, const extraction_config& config) {
    require(config.trials >= 1, "an extraction attack without a trial");
    const auto count = std::ssize(prompts);
    std::vector<models::prompt> asked;
    for (std::int64_t i = 0; i < count; ++i)
        asked.push_back({prompts[static_cast<std::size_t>(i)], config.seed + static_cast<std::uint64_t>(i)});
    models::generation_config how;
    how.how = {.temperature = config.temperature, .top_k = config.top_k, .top_p = config.top_p};
    how.max_new_tokens = config.max_new_tokens;
    how.samples = (config.trials + count - 1) / count;
    const auto made = models::generate(model.base, model.layout, model.adapter, asked, how);
    std::vector<std::string> out;
    for (std::int64_t trial = 0; trial < config.trials; ++trial) {
        const auto which = static_cast<std::size_t>(trial % count);
        const auto& text = made[which][static_cast<std::size_t>(trial / count)];
        out.push_back(models::decode_after(words, prompts[which], text.ids));
    }
    return out;
}

at::Tensor canary_gradient(const gradient_canaries& how, std::int64_t number) {
    const auto word = [](std::int64_t x) {
        return static_cast<std::uint32_t>(static_cast<std::uint64_t>(x) & 0xffffffff);
    };
    std::seed_seq seed{word(how.seed), word(how.seed >> 32), word(number), word(number >> 32)};
    std::mt19937_64 random(seed);
    const auto sizes = privacy::sizes_of_groups(how.segments);
    std::vector<float> values;
    for (const auto& part : how.segments) {
        const auto size = static_cast<float>(how.norm / std::sqrt(static_cast<double>(sizes[part.group])));
        for (std::int64_t i = 0; i < part.size; ++i) values.push_back(random() >> 63 ? size : -size);
    }
    return at::tensor(values, at::kFloat);
}

std::vector<double> trace_scores(const gradient_canaries& how, const at::Tensor& trace, std::int64_t count) {
    auto unit = how;
    unit.norm = 1;
    std::vector<double> out;
    for (std::int64_t i = 0; i < count; ++i)
        out.push_back(canary_gradient(unit, i).to(at::kDouble).dot(trace).item<double>());
    return out;
}

}  // namespace rldp::eval
