#include "eval/grid/sweep/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rldp::eval {
namespace {

setting_score compute_score(const std::string& setting, const std::vector<swept>& cells) {
    setting_score out;
    out.setting = setting;
    std::vector<double> end, best;
    for (const auto& [where, result] : cells) {
        if (where.setting != setting) continue;
        ++out.cells;
        if (result.state == cell_state::failed) ++out.failed;
        if (!result.summary) continue;
        const auto& summary = *result.summary;
        if (summary.perplexity_after) end.push_back(*summary.perplexity_after);
        if (summary.perplexity_best) best.push_back(*summary.perplexity_best);
        out.any_bound = out.any_bound && summary.guarantee().holds();
        out.epsilon_guaranteed = std::max(out.epsilon_guaranteed, summary.epsilon_guaranteed);
    }
    out.end = compute_statistic(end);
    out.best = compute_statistic(best);
    return out;
}

// Without a result, or with one that is no number: last.
double for_order(const setting_score& one) {
    const double none = std::numeric_limits<double>::max();
    if (!one.end.mean) return std::numeric_limits<double>::infinity();
    return std::isfinite(*one.end.mean) ? *one.end.mean : none;
}

std::ptrdiff_t with_result(const std::vector<setting_score>& scores) {
    return std::count_if(scores.begin(), scores.end(), [](const auto& one) { return one.end.mean.has_value(); });
}

}  // namespace

const setting_score* sweep_report::best() const {
    return with_result(scores) < 2 ? nullptr : &scores.front();
}

const setting_score* sweep_report::worst() const {
    const auto known = with_result(scores);
    return known < 2 ? nullptr : &scores[static_cast<std::size_t>(known - 1)];
}

sweep_report make_report(const sweep_plan& plan, std::vector<swept> cells, const std::string& command) {
    sweep_report out;
    out.plan = plan;
    out.cells = std::move(cells);
    out.command = command;
    for (const auto& setting : plan.settings) out.scores.push_back(compute_score(setting, out.cells));
    std::stable_sort(out.scores.begin(), out.scores.end(),
                     [](const auto& a, const auto& b) { return for_order(a) < for_order(b); });
    for (const auto& one : out.cells) out.cost.add(one.where.run, one.result);
    return out;
}

}  // namespace rldp::eval
