#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "base/data_names.hpp"
#include "eval/experiments/comparison.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::eval {
namespace {

std::string cells(std::size_t count) {
    return fmt::format("{} cell{}", count, count == 1 ? "" : "s");
}

}  // namespace

void expense::add(const cell& which, const cell_result& result) {
    if (!result.committed) return;
    if (!which.split) {
        ++made_up;
        return;
    }
    if (std::find(splits.begin(), splits.end(), *which.split) == splits.end()) splits.push_back(*which.split);
    raw = raw || result.committed->held_out == publication::raw;
    if (!result.committed->holds) {
        ++unbounded;
        return;
    }
    ++bounded;
    epsilon += result.committed->epsilon_guaranteed;
    delta += result.committed->delta;
}

std::string expense::why_no_sum() const {
    if (bounded + unbounded == 0) return "no cell has read real data";
    if (unbounded > 0) return cells(unbounded) + " read the data without any guarantee";
    const auto differ = keys_that_differ(splits);
    if (std::find(differ.begin(), differ.end(), "privacy.unit") != differ.end())
        return "the cells protect different units (privacy.unit), whose bounds don't add up";
    if (raw && splits.size() > 1)
        return fmt::format(
            "the cells do not share one split of the data (they differ in {}), so a unit that one trains on may be in "
            "another's held-out perplexity, which no contract covers",
            fmt::join(differ, ", "));
    return {};
}

std::vector<std::string> expense_sentences(const expense& cost) {
    std::vector<std::string> out;
    const auto why_not = cost.why_no_sum();
    if (why_not.empty())
        out.push_back(fmt::format(
            "{} read the training data under a bound; for someone who sees all their outputs, ε adds up to {:.4g} and "
            "δ to {:.4g} (basic composition, an upper bound). That is for {}; other runs on these data, and cells "
            "removed "
            "from here, come on top.",
            cells(cost.bounded), cost.epsilon, cost.delta,
            cost.raw ? "the training units of the one split that all of them share, and assumes that held-out "
                       "perplexities concern units outside the contract"
                     : "every unit of the data"));
    else if (cost.bounded + cost.unbounded > 0)
        out.push_back(fmt::format("No sum of ε is given: {}.", why_not));
    if (cost.made_up > 0)
        out.push_back(
            fmt::format("{} read made-up records ({}N), which are nobody's: no one's budget was spent, no ε "
                        "is summed, and their splits may differ.",
                        cells(cost.made_up), synthetic_prefix));
    return out;
}

nlohmann::ordered_json to_json(const expense& cost) {
    const auto why_not = cost.why_no_sum();
    nlohmann::ordered_json out = {{"epsilon_sum", nullptr}, {"delta_sum", nullptr}};
    if (why_not.empty()) {
        out["epsilon_sum"] = json_number(cost.epsilon);
        out["delta_sum"] = cost.delta;
    } else {
        out["no_sum_because"] = why_not;
    }
    out["cells_with_bound"] = cost.bounded;
    out["cells_without_bound"] = cost.unbounded;
    out["cells_of_made_up_data"] = cost.made_up;
    return out;
}

// Which cells belong together, and which learning rate is a method's own.

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

score compute_score(const variant& method, double epsilon, const cells_of_grid& cells, std::size_t seeds) {
    score out;
    out.method = method.name;
    out.part = method.part;
    out.epsilon = epsilon;
    if (!cells.empty()) out.lr = cells.front()->where.lr;
    out.end = over(cells, end_perplexity);
    out.best = over(cells, [](const measured& one) { return one.result.summary->perplexity_best; });
    for (const auto* one : cells) {
        ++out.cells[one->result.state];
        if (!one->result.summary) continue;
        add_privacy(out, *one->result.summary);
        if (one->result.summary->how != ending::done) ++out.exhausted;
    }
    if (cells.size() < seeds) out.cells[cell_state::not_run] += seeds - cells.size();
    return out;
}

using seed_set = std::set<std::int64_t>;

seed_set seeds_done(const cells_of_grid& cells) {
    seed_set out;
    for (const auto* one : cells)
        if (one->result.state == cell_state::done && end_perplexity(*one)) out.insert(one->where.seed);
    return out;
}

// Of RLDP and the baselines; one without any seed takes none away from the others.
seed_set shared_seeds(double epsilon, const std::vector<variant>& methods, const cells_of_grid& cells) {
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
    std::erase_if(cells, [&](const auto* one) { return !seeds.contains(one->where.seed); });
    return over(cells, end_perplexity);
}

standing compute_standing(double epsilon, const std::vector<variant>& methods, const cells_of_grid& cells) {
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
    out.seed = mine->where.seed;
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

statistic compute_statistic(const std::vector<double>& values) {
    statistic out{.n = values.size(), .mean = {}, .deviation = {}};
    if (values.empty()) return out;
    const auto n = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const double x : values) sum += x;
    out.mean = sum / n;
    for (const double x : values) squares += (x - *out.mean) * (x - *out.mean);
    if (values.size() > 1) out.deviation = std::sqrt(squares / (n - 1));
    return out;
}

std::size_t comparison::reached() const {
    return static_cast<std::size_t>(
        std::count_if(reaches.begin(), reaches.end(), [](const auto& one) { return one.reached; }));
}

comparison compare(const compare_plan& plan, const cells_of_grid& cells) {
    comparison out;
    for (const auto epsilon : plan.epsilons)
        for (const auto& method : plan.methods)
            out.scores.push_back(
                compute_score(method, epsilon, cells_at(cells, method.name, epsilon), plan.seeds.size()));
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

expense sum_expense(const std::vector<measured>& cells) {
    expense out;
    for (const auto& one : cells) out.add(one.where.run, one.result);
    return out;
}

}  // namespace rldp::eval
