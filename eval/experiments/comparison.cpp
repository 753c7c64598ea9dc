#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "eval/experiments/comparison.hpp"

namespace rldp::eval {

std::vector<const measured*> cells_at(const std::vector<const measured*>& cells, const std::string& method,
                                      double epsilon) {
    std::vector<const measured*> out;
    for (const auto* one : cells)
        if (one->where.arm == method && one->where.epsilon == epsilon) out.push_back(one);
    return out;
}

std::vector<const measured*> common_cells(const std::vector<measured>& cells) {
    std::vector<const measured*> out;
    for (const auto& one : cells)
        if (!one.where.setting) out.push_back(&one);
    return out;
}

std::vector<const measured*> cells_at_own_rate(const compare_plan& plan, const std::vector<measured>& cells,
                                               const std::vector<tuned_arm>& tuned) {
    std::vector<const measured*> out;
    for (const auto& own : tuned) {
        if (!own.chosen) continue;
        for (const auto& one : cells)
            if (!one.where.trial && one.where.arm == own.arm && one.where.epsilon == own.epsilon &&
                plan.find_rate(one.where) == plan.rates[*own.chosen])
                out.push_back(&one);
    }
    return out;
}

namespace {

using cells_of_grid = std::vector<const measured*>;
constexpr auto ours = "rldp";

// Perplexities that are no number sort last.
double for_order(const statistic& of) {
    const double mean = of.mean.value_or(std::numeric_limits<double>::infinity());
    return std::isnan(mean) ? std::numeric_limits<double>::infinity() : mean;
}

std::optional<double> end_perplexity(const measured& one) {
    return one.result.summary ? one.result.summary->perplexity_after : std::nullopt;
}

const measured* with_seed(const cells_of_grid& cells, std::int64_t seed) {
    const auto found =
        std::find_if(cells.begin(), cells.end(), [&](const auto* one) { return one->where.seed == seed; });
    return found == cells.end() ? nullptr : *found;
}

using value_function = std::function<std::optional<double>(const measured&)>;

statistic over(const cells_of_grid& cells, const value_function& value) {
    std::vector<double> values;
    for (const auto* one : cells)
        if (one->result.state == cell_state::done)
            if (const auto x = value(*one)) values.push_back(*x);
    return compute_statistic(values);
}

void add_privacy(score& to, const run_summary& summary) {
    const bool bound = summary.guarantee().holds();
    to.any_bound = to.any_bound || bound;
    if (bound) to.epsilon_guaranteed = std::max(to.epsilon_guaranteed, summary.epsilon_guaranteed);
    for (const auto& [name, value] : summary.epsilon_spent) {
        const auto [place, is_new] = to.by_accountant.try_emplace(name, value);
        if (!is_new) place->second = std::max(place->second, value);
    }
    to.upper_bound.insert(summary.upper_bound.begin(), summary.upper_bound.end());
}

score compute_score(const compare_plan& plan, const arm& method, double epsilon, const cells_of_grid& cells) {
    score out;
    out.method = method.name;
    out.part = method.part;
    out.epsilon = epsilon;
    if (!cells.empty()) out.lr = plan.find_rate(cells.front()->where);
    out.end = over(cells, end_perplexity);
    out.best = over(cells, [](const measured& one) { return one.result.summary->perplexity_best; });
    for (const auto* one : cells) {
        ++out.cells[one->result.state];
        if (!one->result.summary) continue;
        add_privacy(out, *one->result.summary);
        if (one->result.summary->how != ending::done) ++out.exhausted;
    }
    if (const auto seeds = plan.seeds.size(); cells.size() < seeds)
        out.cells[cell_state::not_run] += seeds - cells.size();
    return out;
}

using seed_set = std::set<std::int64_t>;

seed_set seeds_done(const cells_of_grid& cells) {
    seed_set out;
    for (const auto* one : cells)
        if (one->result.state == cell_state::done && end_perplexity(*one)) out.insert(*one->where.seed);
    return out;
}

// Of RLDP and the baselines; one without any seed takes none away from the others.
seed_set shared_seeds(double epsilon, const std::vector<arm>& methods, const cells_of_grid& cells) {
    std::optional<seed_set> out;
    for (const auto& method : methods) {
        if (method.part != role::baseline && method.part != role::ours) continue;
        const auto own = seeds_done(cells_at(cells, method.name, epsilon));
        if (own.empty()) continue;
        if (!out) out = own;
        std::erase_if(*out, [&](const auto seed) { return !own.contains(seed); });
    }
    return out.value_or(seed_set{});
}

statistic end_over(const seed_set& seeds, cells_of_grid cells) {
    std::erase_if(cells, [&](const auto* one) { return !seeds.contains(*one->where.seed); });
    return over(cells, end_perplexity);
}

standing compute_standing(double epsilon, const std::vector<arm>& methods, const cells_of_grid& cells) {
    standing out;
    out.epsilon = epsilon;
    const auto seeds = shared_seeds(epsilon, methods, cells);
    out.seeds.assign(seeds.begin(), seeds.end());
    for (const auto& method : methods) {
        const auto end = end_over(seeds, cells_at(cells, method.name, epsilon));
        if (method.part == role::ours) out.ours_end = end;
        if (method.part != role::baseline || end.n == 0) continue;
        if (out.baseline && for_order(end) >= for_order(out.baseline_end)) continue;
        out.baseline = method.name;
        out.baseline_end = end;
    }
    if (out.baseline && out.ours_end.mean) {
        out.difference = *out.ours_end.mean - *out.baseline_end.mean;
        out.ratio = *out.ours_end.mean / *out.baseline_end.mean;
    }
    return out;
}

std::optional<reach> find_reach(const measured* mine, const measured* theirs) {
    if (!mine || !theirs || mine->result.state != cell_state::done) return std::nullopt;
    const auto target = end_perplexity(*theirs);
    const auto planned = mine->result.summary->steps_planned;
    if (!target || planned < 1) return std::nullopt;
    reach out;
    out.epsilon = mine->where.epsilon;
    out.seed = *mine->where.seed;
    for (const auto& line : mine->result.metrics) {
        if (!line.eval_perplexity || !(*line.eval_perplexity <= *target)) continue;
        out.reached = true;
        out.fraction = static_cast<double>(line.step) / static_cast<double>(planned);
        break;
    }
    return out;
}

void add_fractions(comparison& to) {
    std::vector<double> fractions;
    for (const auto& one : to.reaches) fractions.push_back(one.fraction);
    to.mean_fraction = compute_statistic(fractions).mean;
    if (fractions.empty()) return;
    std::sort(fractions.begin(), fractions.end());
    const auto half = fractions.size() / 2;
    to.median_fraction = fractions.size() % 2 == 1 ? fractions[half] : (fractions[half - 1] + fractions[half]) / 2;
}

}  // namespace

std::size_t comparison::reached() const {
    return static_cast<std::size_t>(
        std::count_if(reaches.begin(), reaches.end(), [](const auto& one) { return one.reached; }));
}

comparison compare(const compare_plan& plan, const cells_of_grid& cells) {
    comparison out;
    for (const auto epsilon : plan.epsilons)
        for (const auto& method : plan.methods)
            out.scores.push_back(compute_score(plan, method, epsilon, cells_at(cells, method.name, epsilon)));
    for (const auto epsilon : plan.epsilons) {
        out.standings.push_back(compute_standing(epsilon, plan.methods, cells));
        const auto& best = out.standings.back().baseline;
        if (!best) continue;
        const auto mine = cells_at(cells, ours, epsilon), theirs = cells_at(cells, *best, epsilon);
        for (const auto seed : plan.seeds)
            if (const auto one = find_reach(with_seed(mine, seed), with_seed(theirs, seed)))
                out.reaches.push_back(*one);
    }
    add_fractions(out);
    return out;
}

}  // namespace rldp::eval
