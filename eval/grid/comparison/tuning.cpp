// Which cells belong together, and which learning rate is a method's own.
#include <algorithm>

#include "eval/grid/comparison/comparison.hpp"

namespace rldp::eval {
namespace {

bool ended(const measured& one) {
    return one.result.state == cell_state::done || one.result.state == cell_state::failed;
}

// Of one method, ε and rate: nothing until every seed has ended, or where none of them gave a perplexity.
struct rate_outcome {
    statistic end;
    bool complete = true;
};

rate_outcome outcome_at(const tuning& of, double lr, const std::vector<measured>& cells) {
    std::vector<double> values;
    rate_outcome out;
    for (const auto& one : cells) {
        const auto& where = one.where;
        if (where.when != stage::tuning || where.method != of.method || where.epsilon != of.epsilon || where.lr != lr)
            continue;
        out.complete = out.complete && ended(one);
        if (one.result.summary && one.result.summary->perplexity_after)
            values.push_back(*one.result.summary->perplexity_after);
    }
    out.end = compute_statistic(values);
    return out;
}

void choose(tuning& of, const std::vector<double>& rates) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < rates.size(); ++i)
        // A mean that is no number loses against every number.
        if (of.end[i].mean && *of.end[i].mean == *of.end[i].mean && (!best || *of.end[i].mean < *of.end[*best].mean))
            best = i;
    if (!best) return;
    of.best = rates[*best];
    const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
    of.at_edge = rates.size() > 1 && (of.best == *least || of.best == *most);
}

}  // namespace

std::vector<tuning> tunings(const compare_plan& plan, const std::vector<measured>& cells) {
    std::vector<tuning> out;
    if (!plan.tunes()) return out;
    for (const auto epsilon : plan.epsilons)
        for (const auto& method : plan.methods) {
            tuning one{.method = method.name, .epsilon = epsilon, .end = {}, .best = {}, .at_edge = false};
            bool complete = true;
            for (const auto lr : plan.rates) {
                const auto outcome = outcome_at(one, lr, cells);
                one.end.push_back(outcome.end);
                complete = complete && outcome.complete;
            }
            if (complete) choose(one, plan.rates);
            out.push_back(std::move(one));
        }
    return out;
}

std::vector<chosen_rate> chosen(const std::vector<tuning>& all) {
    std::vector<chosen_rate> out;
    for (const auto& one : all)
        if (one.best) out.push_back({one.method, one.epsilon, *one.best});
    return out;
}

std::vector<const measured*> cells_at(const std::vector<const measured*>& cells, const std::string& method,
                                      double epsilon) {
    std::vector<const measured*> out;
    for (const auto* one : cells)
        if (one->where.method == method && one->where.epsilon == epsilon) out.push_back(one);
    return out;
}

std::vector<const measured*> common(const std::vector<measured>& cells) {
    std::vector<const measured*> out;
    for (const auto& one : cells)
        if (one.where.when == stage::common) out.push_back(&one);
    return out;
}

std::vector<const measured*> tuned(const std::vector<measured>& cells, const std::vector<chosen_rate>& rates) {
    std::vector<const measured*> out;
    for (const auto& rate : rates)
        for (const auto& one : cells)
            if (one.where.when != stage::tuning && one.where.method == rate.method &&
                one.where.epsilon == rate.epsilon && one.where.lr == rate.lr)
                out.push_back(&one);
    return out;
}

}  // namespace rldp::eval
