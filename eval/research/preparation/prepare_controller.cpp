#include "eval/research/preparation/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/files.hpp"
#include "config/config.hpp"
#include "eval/research/preparation/real_runs.hpp"
#include "rl/prepared/splitmix.hpp"

namespace rldp::eval {

namespace {

enum stream : std::uint64_t { searches, validation, gate_tasks };

/// Of a rule's search on runs: what so few of them can settle beside the rule. What the schedule gains by what is known
/// beforehand stays as its own search left it.
constexpr std::array of_line = {rl::schedule::log_rate, rl::schedule::tilt, rl::schedule::tail};
/// Hindsight takes four more runs of a task, and decides nothing.
constexpr std::size_t most_in_hindsight = 16;
/// Where the rule's search begins, below the schedule: a rate that climbs costs little, one that begins too high ruins
/// the run before the first score is heard.
constexpr double begins_below = -2;

rl::prepared_policy find_or_train_policy(rl::preparation_config asked, const preparation_place& where) {
    const auto file = where.work / "quadratics.safetensors";
    if (std::filesystem::exists(file)) return rl::prepared_policy::load(file);
    asked.jobs = where.jobs;
    auto found = rl::train_policy(asked, [&](const std::string& stage) { where.said("quadratics: " + stage); }).policy;
    found.save(file);
    where.rest();
    return found;
}

/// A policy that steers, or a schedule alone.
class policy_maker {
  public:
    explicit policy_maker(const rl::prepared_policy& first) : first_(first) {}

    /// Its beginning: the usual rate, falling to zero.
    static std::vector<double> usual_schedule() {
        std::vector<double> out(rl::schedule::count);
        out[rl::schedule::tilt] = out[rl::schedule::tail] = -2;
        return out;
    }
    run_arm schedule(const std::vector<double>& point) const {
        auto parts = first_.parts();
        parts.best_fixed = rl::schedule_at(point);
        return {rl::prepared_policy(std::move(parts)), controller_mode::frozen};
    }

    std::vector<double> first_rule(const std::vector<double>& schedule) const {
        std::vector<double> out;
        for (const auto number : of_line) out.push_back(schedule[number]);
        out.front() += begins_below;
        for (const double number : rl::to_point(first_.parts().how)) out.push_back(number);
        return out;
    }
    run_arm rule(std::vector<double> schedule, const std::vector<double>& point, bool with_residual) const {
        for (std::size_t k = 0; k < of_line.size(); ++k) schedule[of_line[k]] = point[k];
        auto parts = first_.parts();
        parts.fixed = rl::schedule_at(schedule);
        parts.how = rl::rule_at(std::span(point).subspan(of_line.size()));
        if (!with_residual) parts.actor = parts.actor.clone().zero_();  // a net of zeros says nothing
        return {rl::prepared_policy(std::move(parts))};
    }

  private:
    const rl::prepared_policy& first_;
};

std::vector<std::string> list_names(const std::vector<run_family>& all) {
    std::vector<std::string> out(all.size());
    std::transform(all.begin(), all.end(), out.begin(), [](const run_family& one) { return one.name; });
    return out;
}

std::vector<double> part(const std::vector<double>& losses, std::size_t which, std::size_t size) {
    const auto first = losses.begin() + static_cast<std::ptrdiff_t>(which * size);
    return {first, first + static_cast<std::ptrdiff_t>(size)};
}

/// Of each task, the least loss of the common schedule, whose own losses are given, and of the same at other rates.
/// Chosen with the noise that it is judged by: more than anyone could win who knew the task.
std::vector<double> best_rates(const policy_maker& make, std::vector<double> point, const std::vector<double>& own,
                               const std::vector<run_task>& tasks, const run_place& where) {
    std::vector<run_arm> all;
    const double common = point[rl::schedule::log_rate];
    for (const double factor : {1.0 / 16, 0.25, 4.0, 16.0}) {
        point[rl::schedule::log_rate] = common + std::log(factor);
        all.push_back(make.schedule(point));
    }
    const auto losses = compute_losses(all, tasks, where);
    auto out = own;
    for (std::size_t i = 0; i < losses.size(); ++i) out[i % out.size()] = std::min(out[i % out.size()], losses[i]);
    return out;
}

/// The logs of what it set, by the clock.
rl::timetable to_timetable(const rate_path& of) {
    std::vector<std::pair<double, double>> set;
    for (const auto& [time, factor] : of.factors) set.emplace_back(time, std::log(factor));
    return rl::to_timetable(set);
}

/// How often a gate was asked of what this preparation found: each asking errs one time in forty.
std::size_t gates_in(const std::filesystem::path& work) {
    const std::filesystem::directory_iterator all(work);
    return static_cast<std::size_t>(std::count_if(
        begin(all), end(all), [](const auto& one) { return one.path().filename().string().starts_with("gate-"); }));
}

/// The policy against another, for each family that has two tasks or more; tasks are of each family in turn.
std::map<std::string, rl::paired> compare_by_family(const std::vector<run_family>& families,
                                                    const std::vector<double>& policy,
                                                    const std::vector<double>& than) {
    std::map<std::string, rl::paired> out;
    for (std::size_t f = 0; f < families.size(); ++f) {
        std::vector<double> one, other;
        for (auto i = f; i < policy.size(); i += families.size()) {
            one.push_back(policy[i]);
            other.push_back(than[i]);
        }
        if (one.size() >= 2) out[families[f].name] = rl::compare(one, other);
    }
    return out;
}

nlohmann::json to_json_by_family(const std::map<std::string, rl::paired>& gains) {
    auto out = nlohmann::json::object();
    for (const auto& [name, found] : gains) out[name] = to_json(found);
    return out;
}

}  // namespace

prepared_controller_file prepare_controller(const preparation_file& what, const preparation_place& where) {
    make_directory(where.work);
    const auto seed = [&](stream which) { return rl::splitmix(what.seed, which).next() >> 1; };
    const auto first = find_or_train_policy(what.quadratics, where);
    const policy_maker make(first);
    const auto& terms = what.runs;
    nlohmann::json curves;
    const auto search = [&](const std::string& name, const std::vector<double>& start, const auto& arm_at) {
        const auto found = search_on_runs(start, arm_at, terms,
                                          {.out = where.work / name,
                                           .jobs = where.jobs,
                                           .seed = seed(searches),
                                           .on_generation = [&](std::size_t generation, double mean) {
                                               where.said(fmt::format("runs: {}, generation {} of {}: {:.4f}", name,
                                                                      generation + 1, terms.generations, mean));
                                               where.rest();
                                           }});
        curves[name] = found.means;
        return found.centre;
    };
    const auto fixed =
        search("schedule", policy_maker::usual_schedule(), [&](const auto& point) { return make.schedule(point); });
    const auto ruled =
        search("rule", make.first_rule(fixed), [&](const auto& point) { return make.rule(fixed, point, false); });

    where.said("runs: with or without what SAC adds");
    const auto tries = terms.validation_tasks;
    const auto fresh = draw_runs(terms.prepared, terms, seed(validation), 0, tries);
    const std::vector<run_arm> either = {make.rule(fixed, ruled, false), make.rule(fixed, ruled, true)};
    const auto validated = where.work / "validation";
    const auto tried = compute_losses(either, fresh, {validated, where.jobs});
    const auto added = rl::compare(part(tried, 1, tries), part(tried, 0, tries));
    const bool adds = added.least_gain() > 0;
    const std::size_t chosen = adds ? 1 : 0;
    auto parts = either[chosen].policy->parts();
    std::vector<rl::timetable> timetables;
    for (const auto& path : read_paths(chosen, fresh, validated)) timetables.push_back(to_timetable(path));
    parts.usual = rl::mean_of(timetables);
    parts.best_fixed = rl::schedule_at(fixed);

    where.rest();
    where.said("runs: judging on held-out families");
    const auto size = terms.gate_tasks;
    const auto asked = fmt::format("gate-{}-{}", terms.gate_seed, size);
    const auto tasks = draw_runs(terms.held_out, terms, rl::splitmix(terms.gate_seed, gate_tasks).next() >> 1, 0, size);
    const rl::prepared_policy steering(parts);
    const std::vector<run_arm> all = {
        make.schedule(fixed), {steering, controller_mode::deaf}, {steering, controller_mode::learned}};
    const auto losses = compute_losses(all, tasks, {where.work / asked, where.jobs});
    const auto against = [&](std::size_t one, std::size_t other) {
        return rl::compare(part(losses, one, size), part(losses, other, size));
    };
    where.rest();
    where.said("runs: judging at the rates that are chosen");
    auto not_off = terms;
    not_off.offset = 1;
    const auto by_default =
        draw_runs(terms.held_out, not_off, rl::splitmix(terms.gate_seed, gate_tasks).next() >> 1, 0, size);
    const std::vector<run_arm> both = {make.schedule(fixed), {steering}};
    const auto ends = compute_losses(both, by_default, {where.work / ("default-" + asked), where.jobs});
    where.rest();
    where.said("runs: those that nobody steers");
    const std::vector<run_arm> nobody = {{}};
    const auto unsteered = compute_losses(nobody, by_default, {where.work / ("nobody-" + asked), where.jobs});
    where.rest();
    where.said("runs: what hindsight would win");
    const auto seen = std::min(size, most_in_hindsight);
    auto own = part(losses, 0, size);
    own.resize(seen);
    const auto best = best_rates(make, fixed, own, {tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(seen)},
                                 {where.work / ("hindsight-" + asked), where.jobs});
    const run_gate found{.hindsight = rl::compare(best, own),
                         .deaf = against(1, 0),
                         .policy = against(2, 0),
                         .feedback = against(2, 1),
                         .default_rate = rl::compare(part(ends, 1, size), part(ends, 0, size)),
                         .nobody = compare_by_family(terms.held_out, part(ends, 1, size), unsteered)};
    parts.passed = found.passed();
    parts.figures =
        nlohmann::json{{"tasks", "runs"},
                       {"families", list_names(terms.prepared)},
                       {"held_out", list_names(terms.held_out)},
                       {"seen", to_json(rl::plan_ranges::of(read_plans(chosen, fresh, validated), parts.interval))},
                       {"rate_offset", terms.offset},
                       {"seed", what.seed},
                       {"runs_per_search", terms.generations * terms.population * terms.tasks},
                       {"gate_tasks", size},
                       {"gate_seed", terms.gate_seed},
                       {"gates_asked", gates_in(where.work)},
                       {"residual", adds},
                       {"residual_added", to_json(added)},
                       {"curves", curves},
                       {"gains", to_json_by_family(
                                     compare_by_family(terms.held_out, part(losses, 2, size), part(losses, 0, size)))},
                       {"gate",
                        {{"hindsight", to_json(found.hindsight)},
                         {"deaf", to_json(found.deaf)},
                         {"policy", to_json(found.policy)},
                         {"feedback", to_json(found.feedback)},
                         {"default_rate", to_json(found.default_rate)},
                         {"nobody", to_json_by_family(found.nobody)}}},
                       {"before", nlohmann::json::parse(first.parts().figures)}}
            .dump();
    return {rl::prepared_policy(std::move(parts)), found,
            read_paths(2, std::span(tasks).first(std::min<std::size_t>(6, size)), where.work / asked)};
}

}  // namespace rldp::eval
