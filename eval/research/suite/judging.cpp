// What a suite's cells come to: regrets, standings, verdicts over beds.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "eval/experiments/comparison_files.hpp"
#include "eval/research/suite/suite.hpp"

namespace rldp::eval {
namespace {

constexpr std::uint64_t resampling_seed = 1;  // of bootstrap intervals

bed_score score_arm(const bed_plan& plan, const arm& which, const std::vector<measured>& cells) {
    bed_score out{.arm = which.name};
    std::vector<const measured*> own;
    std::vector<double> ends;
    for (const auto& one : cells) {
        if (one.where.trial || one.where.arm != which.name) continue;
        own.push_back(&one);
        out.failed += one.result.state == cell_state::failed ? 1 : 0;
        const auto end = plan.which.compared.find_final(one.result);
        if (!end) continue;
        out.diverged += end->diverged ? 1 : 0;
        out.ends[*one.where.seed] = end->value;
        ends.push_back(end->value);
    }
    out.end = compute_statistic(ends);
    out.learned = mean_over_seeds(own, [shown = plan.which.drawn()](const auto& line) { return shown.of(line); });
    return out;
}

/// Mean over tests: a warm start's rate is an arm's own.
double find_before(const bed_plan& plan, const std::vector<measured>& cells) {
    std::vector<double> all;
    for (const auto& one : cells)
        if (!one.where.trial && one.result.summary)
            if (const auto value = plan.which.compared.before(*one.result.summary)) all.push_back(*value);
    return compute_statistic(all).mean.value_or(std::numeric_limits<double>::quiet_NaN());
}

double find_regret(const bed_result& where, const std::string& arm) {
    return *std::find_if(where.scores.begin(), where.scores.end(), [&](const auto& one) {
                return one.arm == arm;
            })->regret;
}

std::vector<double> list_regrets(const std::vector<const bed_result*>& beds, const std::string& arm) {
    std::vector<double> out;
    for (const auto* one : beds) out.push_back(find_regret(*one, arm));
    return out;
}

suite_standing rank_arm(const std::vector<const bed_result*>& beds, const std::string& arm) {
    suite_standing out{.arm = arm, .beds = beds.size()};
    const auto all = list_regrets(beds, arm);
    out.mean = *compute_statistic(all).mean;
    const auto worst = std::max_element(all.begin(), all.end());
    out.worst = *worst;
    out.worst_bed = beds[static_cast<std::size_t>(worst - all.begin())]->plan.which.name;
    out.interval = bootstrap_interval(all, resampling_seed);
    out.first = static_cast<std::size_t>(std::count(all.begin(), all.end(), 0.0));
    return out;
}

suite_duel compare_with(const std::vector<const bed_result*>& beds, const std::string& ours, const std::string& arm) {
    const auto mine = list_regrets(beds, ours), theirs = list_regrets(beds, arm);
    suite_duel out{arm, compare_pairs(mine, theirs, better::lower, resampling_seed), {}, {}};
    std::vector<double> gains;
    for (std::size_t i = 0; i < mine.size(); ++i) gains.push_back(theirs[i] - mine[i]);
    out.seen.p = wilcoxon(gains, resampling_seed);
    return out;
}

void judge(std::vector<suite_duel>& duels) {
    std::vector<double> p;
    for (const auto& one : duels) p.push_back(one.seen.p);
    const auto adjusted = holm(p);
    for (std::size_t i = 0; i < duels.size(); ++i) {
        duels[i].adjusted_p = adjusted[i];
        duels[i].said = find_verdict(duels[i].seen, adjusted[i]);
    }
}

}  // namespace

bed_result judge_bed(const bed_plan& plan, std::vector<measured> cells) {
    bed_result out{.plan = plan, .before = find_before(plan, cells), .cells = std::move(cells)};
    for (const auto& which : plan.part.arms) out.scores.push_back(score_arm(plan, which, out.cells));
    out.complete = std::all_of(out.scores.begin(), out.scores.end(),
                               [&](const auto& one) { return one.ends.size() == plan.part.seeds.size(); });
    if (!out.complete) return out;
    double best = std::numeric_limits<double>::infinity();
    for (const auto& one : out.scores) best = std::min(best, *one.end.mean);
    if (!(best < out.before)) return out;
    for (auto& one : out.scores) one.regret = (*one.end.mean - best) / (out.before - best);
    return out;
}

part_result judge_part(const suite& how, const suite_part& part, std::vector<bed_result> beds) {
    part_result out{.name = part.name, .sentence = part.sentence, .beds = std::move(beds)};
    std::vector<const bed_result*> known;
    for (const auto& one : out.beds) {
        out.complete += one.complete ? 1 : 0;
        if (one.has_regrets()) known.push_back(&one);
    }
    if (known.empty()) return out;
    for (const auto& which : part.arms) {
        out.standings.push_back(rank_arm(known, which.name));
        if (which.name != how.ours) out.duels.push_back(compare_with(known, how.ours, which.name));
    }
    std::stable_sort(out.standings.begin(), out.standings.end(),
                     [](const auto& a, const auto& b) { return a.mean < b.mean; });
    if (out.complete == part.beds.size()) judge(out.duels);
    return out;
}

suite_report make_report(const suite& how, std::vector<part_result> parts, const std::string& command) {
    suite_report out{how, std::move(parts), {}, command};
    for (const auto& part : out.parts)
        for (const auto& bed : part.beds)
            for (const auto& one : bed.cells)
                if (one.result.summary) out.versions.insert(one.result.summary->version);
    return out;
}

}  // namespace rldp::eval
