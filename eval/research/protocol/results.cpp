#include "eval/research/protocol/protocol.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "eval/research/statistics/paired.hpp"

namespace rldp::eval {

namespace {

constexpr std::uint64_t resampling_seed = 1;  // of bootstrap intervals and of more seeds than can be enumerated

bool is_test_of(const measured& one, const std::string& arm, double epsilon) {
    return !one.where.trial && one.where.arm == arm && one.where.epsilon == epsilon;
}

using by_seed = std::map<std::int64_t, const measured*>;

/// The test's cells of an arm that have a final value.
by_seed ended_cells(const protocol_report& report, const std::string& arm, double epsilon) {
    by_seed out;
    for (const auto& one : report.cells)
        if (is_test_of(one, arm, epsilon) && report.plan.how.compared.find_final(one.result))
            out[*one.where.seed] = &one;
    return out;
}

bool is_complete(const protocol_report& report, double epsilon) {
    const auto& how = report.plan.how;
    return std::all_of(how.arms.begin(), how.arms.end(), [&](const arm& one) {
        return ended_cells(report, one.name, epsilon).size() == how.seeds.size();
    });
}

arm_result make_arm_result(const protocol_report& report, tuned_arm tuned) {
    arm_result out{std::move(tuned), {}};
    std::vector<double> values;
    for (const auto& one : report.cells) {
        if (!is_test_of(one, out.tuned.arm, out.tuned.epsilon)) continue;
        out.failed += one.result.state == cell_state::failed ? 1 : 0;
        const auto end = report.plan.how.compared.find_final(one.result);
        if (!end) continue;
        values.push_back(end->value);
        out.diverged += end->diverged ? 1 : 0;
        out.exhausted += one.result.summary->how == ending::budget_exhausted ? 1 : 0;
    }
    out.end = compute_statistic(values);
    return out;
}

std::vector<duel> duels_at(const protocol_report& report, double epsilon) {
    const auto& how = report.plan.how;
    const auto mine = ended_cells(report, how.ours, epsilon);
    std::vector<duel> out;
    for (const auto& other : how.arms) {
        if (other.name == how.ours) continue;
        const auto theirs = ended_cells(report, other.name, epsilon);
        std::vector<double> ours_end, theirs_end;
        for (const auto& [seed, cell] : mine) {
            const auto pair = theirs.find(seed);
            if (pair == theirs.end()) continue;
            ours_end.push_back(how.compared.find_final(cell->result)->value);
            theirs_end.push_back(how.compared.find_final(pair->second->result)->value);
        }
        if (ours_end.empty()) continue;
        out.push_back(
            {other.name, epsilon, compare_pairs(ours_end, theirs_end, how.compared.which, resampling_seed), {}, {}});
    }
    if (!is_complete(report, epsilon)) return out;
    std::vector<double> p;
    p.reserve(out.size());
    for (const auto& one : out) p.push_back(one.seen.p);
    const auto adjusted = holm(p);
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i].adjusted_p = adjusted[i];
        out[i].said = find_verdict(out[i].seen, adjusted[i]);
    }
    return out;
}

double count_examples(const run_summary& done) {
    return done.sample_rate * static_cast<double>(done.units) * static_cast<double>(done.steps_planned);
}

/// The part of ε that was spent by `step`, at most: the run log tells it from time to time, so the next that it tells.
double epsilon_share(const measured& one, double step) {
    const auto& lines = one.result.metrics;
    const auto priced = std::find_if(lines.begin(), lines.end(), [&](const auto& line) {
        return static_cast<double>(line.progress.step) >= step && line.progress.step > 0;
    });
    return priced == lines.end() ? 1 : std::min(1.0, priced->progress.epsilon / one.result.summary->epsilon_guaranteed);
}

/// Absent where the measure has no curve.
std::optional<pace> compute_pace(const protocol_report& report, const std::string& arm, const arm_result& best) {
    const auto& how = report.plan.how;
    pace out{.epsilon = best.tuned.epsilon, .arm = arm, .reached = best.tuned.arm, .target = *best.end.mean};
    const auto their_examples =
        count_examples(*ended_cells(report, out.reached, out.epsilon).begin()->second->result.summary);
    std::vector<std::optional<double>> shares;
    std::vector<double> examples, epsilons;
    for (const auto& [seed, cell] : ended_cells(report, arm, out.epsilon)) {
        const auto& summary = *cell->result.summary;
        std::vector<curve_point> curve;
        for (const auto& line : cell->result.metrics)
            if (const auto value = how.compared.of(line)) curve.push_back({static_cast<double>(line.step), *value});
        if (curve.size() < 2) return std::nullopt;
        const auto steps = static_cast<double>(summary.steps_planned);
        shares.push_back(share_to_target(curve, steps, out.target, how.compared.which));
        const double share = shares.back().value_or(1);
        examples.push_back(share * count_examples(summary) / their_examples);
        epsilons.push_back(shares.back() ? epsilon_share(*cell, share * steps) : 1);
        out.resolution = static_cast<std::int64_t>(curve[1].position - curve[0].position);
    }
    out.steps = speed_over(shares);
    out.examples = *compute_statistic(examples).mean;
    out.epsilon_share = *compute_statistic(epsilons).mean;
    return out;
}

std::vector<pace> paces_at(const protocol_report& report, double epsilon) {
    if (!is_complete(report, epsilon)) return {};
    const auto& how = report.plan.how;
    const arm_result* best = nullptr;
    for (const auto& one : report.arms)
        if (one.tuned.epsilon == epsilon && one.tuned.arm != how.ours &&
            (best == nullptr || how.compared.prefers(*one.end.mean, *best->end.mean)))
            best = &one;
    std::vector<pace> out;
    for (const auto& arm : {how.ours, best->tuned.arm})
        if (const auto found = compute_pace(report, arm, *best)) out.push_back(*found);
    return out;
}

}  // namespace

protocol_report make_report(const protocol_plan& plan, std::vector<measured> cells, const std::string& command) {
    protocol_report out{plan, std::move(cells), {}, {}, {}, {}, {}, command};
    for (const auto& one : out.cells)
        if (one.result.summary) out.versions.insert(one.result.summary->version);
    out.cost = sum_expense(out.cells);
    for (auto& tuned : tune(plan, out.cells)) out.arms.push_back(make_arm_result(out, std::move(tuned)));
    for (const auto epsilon : plan.how.epsilons) {
        const auto duels = duels_at(out, epsilon);
        out.duels.insert(out.duels.end(), duels.begin(), duels.end());
        const auto paces = paces_at(out, epsilon);
        out.paces.insert(out.paces.end(), paces.begin(), paces.end());
    }
    return out;
}

}  // namespace rldp::eval
