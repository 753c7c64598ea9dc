#include "eval/audit/likelihood.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "config/base/error.hpp"
#include "models/attention_memory.hpp"

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

}  // namespace rldp::eval
