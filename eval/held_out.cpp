#include "eval/held_out.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "config/base/error.hpp"
#include "models/marked_token.hpp"

namespace rldp::eval {

namespace {

/// Of each sequence: its negative log-likelihood, that of its marked tokens, and how many were predicted.
struct losses {
    std::vector<double> nll, value_nll;
    std::int64_t tokens = 0;
};

losses losses_of(const models::causal_lm& model, const models::lora_layout* layout, const at::Tensor* adapter,
                 const std::vector<const models::sequence*>& sequences, const scoring& how) {
    // Neighbours of similar length share a batch, so that little is padding. Stable, hence always the same batches.
    std::vector<std::size_t> order(sequences.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](auto left, auto right) { return sequences[left]->size() < sequences[right]->size(); });
    losses out{std::vector<double>(order.size()), std::vector<double>(order.size()), 0};
    const auto step = static_cast<std::size_t>(how.batch);
    for (std::size_t begin = 0; begin < order.size(); begin += step) {
        if (how.stop.stop_requested()) throw error(errc::interrupted, "the evaluation was stopped");
        const auto end = std::min(begin + step, order.size());
        std::vector<models::token_span> together;
        for (std::size_t i = begin; i < end; ++i) together.emplace_back(*sequences[order[i]]);
        const auto found =
            model.losses(models::make_batch(together, {.answers_only = how.answers_only}), layout, adapter);
        const auto nll = found.nll.cpu(), value_nll = found.value_nll.cpu();
        for (std::size_t i = begin; i < end; ++i) {
            out.nll[order[i]] = nll.data_ptr<double>()[i - begin];
            out.value_nll[order[i]] = value_nll.data_ptr<double>()[i - begin];
        }
        out.tokens += found.tokens.sum().item<std::int64_t>();
    }
    return out;
}

double sum_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

/// The share of pairs of which the one with `is` scores higher, an equal pair counting half (Mann and Whitney 1947);
/// absent where there is no pair.
template <class Is>
std::optional<double> auc_of(const std::vector<double>& scores, Is is) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] < scores[b]; });
    double below = 0, pairs_won = 0, positives = 0;
    for (std::size_t begin = 0, end; begin < order.size(); begin = end) {
        double equal = 0, here = 0;
        for (end = begin; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end)
            (is(order[end]) ? here : equal) += 1;
        pairs_won += here * (below + equal / 2);
        below += equal;
        positives += here;
    }
    if (positives == 0 || below == 0) return std::nullopt;
    return pairs_won / (positives * below);
}

/// Posterior probabilities [record][clause] under equal priors.
std::vector<std::vector<double>> posteriors(const std::vector<double>& nll, std::size_t clauses) {
    std::vector<std::vector<double>> out(nll.size() / clauses, std::vector<double>(clauses));
    for (std::size_t r = 0; r < out.size(); ++r) {
        const auto* row = nll.data() + r * clauses;
        const double least = *std::min_element(row, row + clauses);
        double sum = 0;
        for (std::size_t c = 0; c < clauses; ++c) sum += out[r][c] = std::exp(least - row[c]);
        for (auto& p : out[r]) p /= sum;
    }
    return out;
}

double predicted_of(const held_out& records) {
    std::int64_t out = 0;
    for (const auto& sequence : records.sequences)
        out += records.answers_only ? std::count_if(sequence.begin() + 1, sequence.end(), models::is_marked)
                                    : std::ssize(sequence) - 1;
    return static_cast<double>(out);
}

}  // namespace

double held_out::bits_per_byte(double perplexity) const {
    return std::log2(perplexity) * predicted_of(*this) / static_cast<double>(bytes);
}

std::optional<double> held_out::template_perplexity() const {
    if (!marginal_nats) return std::nullopt;
    return std::exp(*marginal_nats * static_cast<double>(sequences.size()) / predicted_of(*this));
}

scores score_held_out(const models::causal_lm& model, const models::lora_layout* layout, const at::Tensor* adapter,
                      const std::vector<models::sequence>& sequences, const scoring& how) {
    if (how.batch < 1) refuse("perplexity: a batch needs at least one sequence");
    std::vector<const models::sequence*> predicted;
    double marked = 0;  // sequences
    for (const auto& sequence : sequences) {
        if (sequence.size() < 2) continue;  // a single token predicts nothing
        predicted.push_back(&sequence);
        marked += std::any_of(sequence.begin(), sequence.end(), models::is_marked) ? 1 : 0;
    }
    if (predicted.empty()) refuse("perplexity: no sequence has two tokens or more, so there is nothing to predict");
    const auto found = losses_of(model, layout, adapter, predicted, how);
    if (found.tokens == 0) refuse("perplexity: no token is to be predicted");
    scores out{std::exp(sum_of(found.nll) / static_cast<double>(found.tokens)), {}};
    if (marked > 0 && !how.answers_only) out.value_nats = sum_of(found.value_nll) / marked;
    return out;
}

std::optional<prediction> predict(const models::causal_lm& model, const models::lora_layout* layout,
                                  const at::Tensor* adapter, const choices& among, const scoring& how) {
    const auto clauses = among.clauses.size();
    std::vector<const models::sequence*> all;
    for (const auto& record : among.alternatives)
        for (const auto& one : record) all.push_back(&one);
    if (all.empty()) return std::nullopt;
    const auto nll = losses_of(model, layout, adapter, all, how).nll;
    if (!std::all_of(nll.begin(), nll.end(), [](double each) { return std::isfinite(each); })) return std::nullopt;
    const auto likely = posteriors(nll, clauses);

    std::vector<double> aucs;
    for (std::size_t c = 0; c < clauses; ++c) {
        if (clauses == 2 && c == 0) continue;  // its curve is the other's
        std::vector<double> of_clause;
        of_clause.reserve(likely.size());
        for (const auto& row : likely) of_clause.push_back(row[c]);
        if (const auto found = auc_of(of_clause, [&](auto r) { return among.truth[r] == c; })) aucs.push_back(*found);
    }
    if (aucs.empty()) return std::nullopt;
    std::int64_t right = 0;
    for (std::size_t r = 0; r < likely.size(); ++r) {
        const auto best = std::max_element(likely[r].begin(), likely[r].end()) - likely[r].begin();
        right += static_cast<std::size_t>(best) == among.truth[r] ? 1 : 0;
    }
    return prediction{sum_of(aucs) / static_cast<double>(aucs.size()),
                      static_cast<double>(right) / static_cast<double>(likely.size())};
}

}  // namespace rldp::eval
