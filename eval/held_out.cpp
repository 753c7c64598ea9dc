#include "eval/held_out.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <numeric>

#include "base/error.hpp"
#include "base/system.hpp"
#include "models/marked_token.hpp"
#include "models/thread_count.hpp"

namespace rldp::eval {

namespace {

/// Of each sequence: its negative log-likelihood, that of its marked tokens, and how many were predicted.
struct losses {
    explicit losses(std::size_t sequences) : nll(sequences), value_nll(sequences), predicted(sequences) {}
    std::vector<double> nll, value_nll;
    std::vector<std::int64_t> predicted;
    std::int64_t tokens() const { return std::accumulate(predicted.begin(), predicted.end(), std::int64_t{0}); }
};

/// Calls `work` with the numbers below `count`, on so many threads, each with one of its own.
template <class Work>
void in_lanes(int lanes, std::size_t count, const Work& work) {
    if (lanes <= 1) {
        for (std::size_t i = 0; i < count; ++i) work(i);
        return;
    }
    std::atomic<std::size_t> next = 0;
    std::vector<std::future<void>> threads;
    threads.reserve(static_cast<std::size_t>(lanes));
    for (int lane = 0; lane < lanes; ++lane)
        threads.push_back(std::async(std::launch::async, [&] {
            models::use_threads(1);
            try {
                for (std::size_t i; (i = next++) < count;) work(i);
            } catch (...) {
                next = count;
                throw;
            }
        }));
    for (auto& thread : threads) thread.wait();
    for (auto& thread : threads) thread.get();
}

/// Nothing where these records alone are at fault: whether a run ends must not depend on one (docs/privacy.md §2).
std::optional<models::sequence_loss> compute_loss(const models::causal_lm& model, const models::lora_layout* layout,
                                                  const at::Tensor* adapter,
                                                  const std::vector<models::token_span>& records, const scoring& how) {
    const auto of = [&](const std::vector<models::token_span>& all) {
        return model.losses(models::make_batch(all, {.answers_only = how.answers_only}), layout, adapter);
    };
    if (!how.skip_failing) return of(records);
    try {
        return of(records);
    } catch (const std::exception& reason) {
        if (is_shortage(reason)) throw;
        const models::sequence made_up{models::marked(0), models::marked(0)};  // to be predicted in chats, too
        of({made_up});                                                         // or the machine is
        return std::nullopt;
    }
}

losses compute_losses(const models::causal_lm& model, const models::lora_layout* layout, const at::Tensor* adapter,
                      const std::vector<const models::sequence*>& sequences, const scoring& how) {
    // Neighbours of similar length share a batch, so that little is padding. Stable, hence always the same batches.
    std::vector<std::size_t> order(sequences.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](auto left, auto right) { return sequences[left]->size() < sequences[right]->size(); });
    losses out(order.size());
    const auto step = static_cast<std::size_t>(how.batch);
    in_lanes(how.lanes, (order.size() + step - 1) / step, [&](std::size_t number) {
        const auto begin = number * step;
        if (how.stop.stop_requested()) throw error(errc::interrupted, "the evaluation was stopped");
        const auto end = std::min(begin + step, order.size());
        std::vector<models::token_span> together;
        for (std::size_t i = begin; i < end; ++i) together.emplace_back(*sequences[order[i]]);
        const auto found = compute_loss(model, layout, adapter, together, how);
        if (!found) return;
        const auto nll = found->nll.cpu(), value_nll = found->value_nll.cpu(), predicted = found->tokens.cpu();
        for (std::size_t i = begin; i < end; ++i) {
            out.nll[order[i]] = nll.data_ptr<double>()[i - begin];
            out.value_nll[order[i]] = value_nll.data_ptr<double>()[i - begin];
            out.predicted[order[i]] = predicted.data_ptr<std::int64_t>()[i - begin];
        }
    });
    return out;
}

double compute_sum(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

constexpr double z_95 = 1.959963984540054;  // of a normal, either side

struct area {
    double value, deviation;
};

/// The share of pairs of which the one with `is` scores higher, an equal pair counting half (Mann and Whitney 1947),
/// and its standard deviation by Hanley and McNeil's formula of 1982; absent where there is no pair.
template <class Is>
std::optional<area> compute_auc(const std::vector<double>& scores, Is is) {
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
    const double a = pairs_won / (positives * below), won_twice = a / (2 - a), won_by_both = 2 * a * a / (1 + a);
    const double variance =
        (a * (1 - a) + (positives - 1) * (won_twice - a * a) + (below - 1) * (won_by_both - a * a)) /
        (positives * below);
    return area{a, std::sqrt(std::max(0.0, variance))};
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

double count_predicted(const held_out& records) {
    std::int64_t out = 0;
    for (const auto& sequence : records.sequences)
        out += records.answers_only ? std::count_if(sequence.begin() + 1, sequence.end(), models::is_marked)
                                    : std::ssize(sequence) - 1;
    return static_cast<double>(out);
}

}  // namespace

void put(metrics_line& to, const scores& found) {
    to.eval_perplexity = found.perplexity;
    to.eval_perplexity_in = found.perplexity_in;
    to.eval_value_nats = found.value_nats;
    to.eval_value_token_nats = found.value_token_nats;
    to.eval_value_token_nats_in = found.value_token_nats_in;
    to.eval_accuracy = found.accuracy;
    to.eval_accuracy_in = found.accuracy_in;
}

scores scores_in(const metrics_line& line) {
    scores out{line.eval_perplexity.value()};
    out.perplexity_in = line.eval_perplexity_in;
    out.value_nats = line.eval_value_nats;
    out.value_token_nats = line.eval_value_token_nats;
    out.value_token_nats_in = line.eval_value_token_nats_in;
    out.accuracy = line.eval_accuracy;
    out.accuracy_in = line.eval_accuracy_in;
    return out;
}

double held_out::bits_per_byte(double perplexity) const {
    return std::log2(perplexity) * count_predicted(*this) / static_cast<double>(bytes);
}

std::optional<double> held_out::template_perplexity() const {
    if (!marginal_nats) return std::nullopt;
    return std::exp(*marginal_nats * static_cast<double>(sequences.size()) / count_predicted(*this));
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
    const auto found = compute_losses(model, layout, adapter, predicted, how);
    if (found.tokens() == 0) refuse("perplexity: no token is to be predicted");
    scores out{std::exp(compute_sum(found.nll) / static_cast<double>(found.tokens()))};
    if (marked > 0 && !how.answers_only) out.value_nats = compute_sum(found.value_nll) / marked;
    return out;
}

namespace {

/// Predicted tokens that carry a value.
std::int64_t count_value_tokens(const models::sequence& record) {
    return record.empty() ? 0 : std::count_if(record.begin() + 1, record.end(), models::is_marked);
}

/// Whether each record that can be asked is answered right; empty for the others.
std::vector<std::optional<bool>> find_hits(const models::causal_lm& model, const models::lora_layout* layout,
                                           const at::Tensor* adapter, const held_out& records, const scoring& how) {
    std::vector<std::optional<bool>> out(records.sequences.size());
    if (!records.target || !records.target->declared) return out;
    const auto& among = *records.target;
    std::vector<const models::sequence*> all;
    for (const auto& record : among.alternatives)
        for (const auto& one : record) all.push_back(&one);
    auto whole = how;
    whole.answers_only = false;
    const auto nll = compute_losses(model, layout, adapter, all, whole).nll;
    const auto clauses = among.clauses.size();
    for (std::size_t r = 0; r < among.records.size(); ++r) {
        const auto* row = nll.data() + r * clauses;
        out[among.records[r]] = static_cast<std::size_t>(std::min_element(row, row + clauses) - row) == among.truth[r];
    }
    return out;
}

/// The mean of some numbers, as they come.
struct mean {
    double sum = 0;
    std::int64_t count = 0;
    void add(double value) { sum += value, ++count; }
    std::optional<double> get() const {
        return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
    }
};

}  // namespace

looked look_at(const models::causal_lm& model, const models::lora_layout* layout, const at::Tensor* adapter,
               const held_out& records, const scoring& how) {
    auto apart = how;
    apart.batch = 1;
    apart.skip_failing = true;
    std::vector<const models::sequence*> all;
    for (const auto& sequence : records.sequences) all.push_back(&sequence);
    const auto found = compute_losses(model, layout, adapter, all, apart);
    const auto hits = find_hits(model, layout, adapter, records, apart);
    looked out;
    mean values;
    for (std::size_t u = 0; u + 1 < records.first.size(); ++u) {
        mean nats, value_token_nats, right;
        for (auto r = records.first[u]; r < records.first[u + 1]; ++r) {
            if (found.predicted[r] == 0) continue;
            nats.add(found.nll[r] / static_cast<double>(found.predicted[r]));
            const auto carrying = count_value_tokens(records.sequences[r]);
            if (!how.answers_only && carrying > 0) {
                value_token_nats.add(found.value_nll[r] / static_cast<double>(carrying));
                values.add(found.value_nll[r]);
            }
            if (hits[r]) right.add(*hits[r] ? 1 : 0);
        }
        if (const auto own = nats.get()) out.units.push_back({*own, value_token_nats.get(), right.get()});
    }
    if (const auto tokens = found.tokens(); tokens > 0)
        out.exact.perplexity = std::exp(compute_sum(found.nll) / static_cast<double>(tokens));
    out.exact.value_nats = values.get();
    return out;
}

std::optional<prediction> predict(const models::causal_lm& model, const models::lora_layout* layout,
                                  const at::Tensor* adapter, const choices& among, const scoring& how) {
    const auto clauses = among.clauses.size();
    std::vector<const models::sequence*> all;
    for (const auto& record : among.alternatives)
        for (const auto& one : record) all.push_back(&one);
    if (all.empty()) return std::nullopt;
    const auto nll = compute_losses(model, layout, adapter, all, how).nll;
    if (!std::all_of(nll.begin(), nll.end(), [](double each) { return std::isfinite(each); })) return std::nullopt;
    const auto likely = posteriors(nll, clauses);

    std::vector<double> aucs, deviations;
    for (std::size_t c = 0; c < clauses; ++c) {
        if (clauses == 2 && c == 0) continue;  // its curve is the other's
        std::vector<double> of_clause;
        of_clause.reserve(likely.size());
        for (const auto& row : likely) of_clause.push_back(row[c]);
        if (const auto found = compute_auc(of_clause, [&](auto r) { return among.truth[r] == c; })) {
            aucs.push_back(found->value);
            deviations.push_back(found->deviation);
        }
    }
    if (aucs.empty()) return std::nullopt;
    std::int64_t right = 0;
    for (std::size_t r = 0; r < likely.size(); ++r) {
        const auto best = std::max_element(likely[r].begin(), likely[r].end()) - likely[r].begin();
        right += static_cast<std::size_t>(best) == among.truth[r] ? 1 : 0;
    }
    // A mean deviates by the mean of the deviations at most, however they go together.
    const auto curves = static_cast<double>(aucs.size());
    const double auc = compute_sum(aucs) / curves, within = z_95 * compute_sum(deviations) / curves;
    return prediction{.auc = auc,
                      .auc_in = {std::max(0.0, auc - within), std::min(1.0, auc + within)},
                      .records = std::ssize(likely),
                      .accuracy = static_cast<double>(right) / static_cast<double>(likely.size())};
}

}  // namespace rldp::eval
