#include "eval/research/preparation/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "config/config.hpp"
#include "eval/research/preparation/real_runs.hpp"
#include "rl/prepared/splitmix.hpp"

namespace rldp::eval {

namespace {

enum stream : std::uint64_t { searches, validation, gate_tasks };

constexpr std::array clock_numbers = {rl::rule::bias, rl::rule::time};
/// What so few runs can settle; the others stay as family B left them.
constexpr std::array rule_numbers = {rl::rule::bias,  rl::rule::time,   rl::rule::signal,   rl::rule::along,
                                     rl::rule::noise, rl::rule::forget, rl::rule::own_along};
constexpr std::size_t of_schedule = 3;
/// Hindsight takes four more runs of a task, and decides nothing.
constexpr std::size_t most_in_hindsight = 32;
/// A rate by the clock is one, and not what is added to the last: e⁻³⁶ of that stays.
constexpr double forgets_all = 6;

/// What all families agree on: how strongly to answer to the slope along the last move.
rl::rule extract_answers(const rl::rule& found) {
    rl::rule out;
    for (const auto number : {rl::rule::along, rl::rule::own_along}) out.numbers[number] = found.numbers[number];
    return out;
}

/// Of a family that is made up whole.
rl::prepared_policy find_or_train_policy(rl::preparation_config asked, const std::string& name,
                                         const preparation_place& where) {
    const auto file = where.work / (name + ".safetensors");
    if (std::filesystem::exists(file)) return rl::prepared_policy::load(file);
    asked.jobs = where.jobs;
    auto found = rl::train_policy(asked, [&](const std::string& stage) { where.said(name + ": " + stage); }).policy;
    found.save(file);
    where.rest();
    return found;
}

/// Family A, then B, from what A taught.
rl::prepared_policy make_synthetic_policy(const preparation_file& what, const preparation_place& where) {
    auto asked = what.bilinear;
    asked.begin = extract_answers(find_or_train_policy(what.quadratics, "quadratics", where).parts().how);
    // Not where quadratics end: they would raise their rates to the end, and networks want them to fall.
    asked.start = {0, -1, -1};
    return find_or_train_policy(asked, "bilinear", where);
}

/// A policy that steers, or a schedule alone.
class policy_maker {
  public:
    explicit policy_maker(const rl::prepared_policy& first) : first_(first) {}

    rl::prepared_policy schedule(const std::vector<double>& point) const {
        auto parts = first_.parts();
        parts.passed = false;
        parts.best_fixed = rl::schedule_at(point);
        return rl::prepared_policy(std::move(parts));
    }
    rl::prepared_policy clock(const std::vector<double>& point) const {
        auto how = rl::rule_at(std::span(point).subspan(of_schedule), clock_numbers);
        how.numbers[rl::rule::forget] = forgets_all;
        return steering(point, how, false);
    }
    /// The numbers of the rule that are not searched stay as they were.
    rl::prepared_policy rule(const std::vector<double>& point, bool with_residual) const {
        const auto found = rl::rule_at(std::span(point).subspan(of_schedule), rule_numbers);
        auto how = first_.parts().how;
        for (const auto number : rule_numbers) how.numbers[number] = found.numbers[number];
        return steering(point, how, with_residual);
    }

  private:
    rl::prepared_policy steering(const std::vector<double>& point, const rl::rule& how, bool with_residual) const {
        auto parts = first_.parts();
        parts.passed = true;
        parts.fixed = rl::schedule_at(std::span(point).first(of_schedule));
        parts.how = how;
        if (!with_residual) parts.actor = parts.actor.clone().zero_();  // a net of zeros says nothing
        return rl::prepared_policy(std::move(parts));
    }

    const rl::prepared_policy& first_;
};

std::vector<double> followed_by(std::vector<double> point, const std::vector<double>& more) {
    point.insert(point.end(), more.begin(), more.end());
    return point;
}

std::vector<std::string> list_names(const std::vector<run_family>& all) {
    std::vector<std::string> out(all.size());
    std::transform(all.begin(), all.end(), out.begin(), [](const run_family& one) { return one.name; });
    return out;
}

std::array<std::int64_t, 2> count_blocks(const std::vector<run_task>& tasks, std::int64_t interval) {
    std::array<std::int64_t, 2> out = {INT64_MAX, 0};
    for (const auto& one : tasks) {
        auto set = one.set;
        set.emplace_back("rl.controller=policy");
        const auto blocks = config::load(one.base, set).train.steps.value_or(0) / interval;
        out = {std::min(out[0], blocks), std::max(out[1], blocks)};
    }
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
    std::vector<rl::prepared_policy> all;
    const double common = point.front();
    for (const double factor : {0.25, 0.5, 2.0, 4.0}) {
        point.front() = common + std::log(factor);
        all.push_back(make.schedule(point));
    }
    const auto losses = compute_losses(all, tasks, where);
    auto out = own;
    for (std::size_t i = 0; i < losses.size(); ++i) out[i % out.size()] = std::min(out[i % out.size()], losses[i]);
    return out;
}

/// How often a gate was asked of what this preparation found: each asking errs one time in forty.
std::size_t gates_in(const std::filesystem::path& work) {
    const std::filesystem::directory_iterator all(work);
    return static_cast<std::size_t>(std::count_if(
        begin(all), end(all), [](const auto& one) { return one.path().filename().string().starts_with("gate-"); }));
}

/// The policy against the schedule, for each family that has two tasks or more; tasks are of each family in turn.
nlohmann::json gains_by_family(const std::vector<run_family>& families, const std::vector<double>& policy,
                               const std::vector<double>& schedule) {
    auto out = nlohmann::json::object();
    for (std::size_t f = 0; f < families.size(); ++f) {
        std::vector<double> one, other;
        for (auto i = f; i < policy.size(); i += families.size()) {
            one.push_back(policy[i]);
            other.push_back(schedule[i]);
        }
        if (one.size() >= 2) out[families[f].name] = to_json(rl::compare(one, other));
    }
    return out;
}

}  // namespace

prepared_controller_file prepare_controller(const preparation_file& what, const preparation_place& where) {
    make_directory(where.work);
    const auto seed = [&](stream which) { return rl::splitmix(what.seed, which).next() >> 1; };
    const auto first = make_synthetic_policy(what, where);
    const policy_maker make(first);
    const auto& terms = what.runs;
    nlohmann::json curves;
    const auto search = [&](const std::string& name, const std::vector<double>& start, const auto& policy_at) {
        const auto found = search_on_runs(start, policy_at, terms,
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
    const auto begin = rl::to_point(first.parts().best_fixed);
    const auto fixed = search("schedule", begin, [&](const auto& point) { return make.schedule(point); });
    const auto timed = search("clock", followed_by(begin, std::vector<double>(clock_numbers.size())),
                              [&](const auto& point) { return make.clock(point); });
    const auto ruled =
        search("rule", followed_by(rl::to_point(first.parts().fixed), rl::to_point(first.parts().how, rule_numbers)),
               [&](const auto& point) { return make.rule(point, true); });

    make.schedule(fixed).save(where.work / "schedule.safetensors");
    make.clock(timed).save(where.work / "clock.safetensors");

    where.said("runs: with or without what SAC adds");
    const auto tries = terms.validation_tasks;
    const auto fresh = draw_runs(terms.prepared, terms, seed(validation), 0, tries);
    const std::vector<rl::prepared_policy> either = {make.schedule(fixed), make.rule(ruled, false),
                                                     make.rule(ruled, true)};
    const auto tried = compute_losses(either, fresh, {where.work / "validation", where.jobs});
    const bool adds = rl::compare(part(tried, 2, tries), part(tried, 1, tries)).mean < 0;

    where.rest();
    where.said("runs: judging on held-out families");
    const auto size = terms.gate_tasks;
    const auto asked = fmt::format("gate-{}-{}", terms.gate_seed, size);
    const auto tasks = draw_runs(terms.held_out, terms, rl::splitmix(terms.gate_seed, gate_tasks).next() >> 1, 0, size);
    const std::vector<rl::prepared_policy> all = {make.schedule(fixed), make.clock(timed), first,
                                                  make.rule(ruled, adds)};
    const auto losses = compute_losses(all, tasks, {where.work / asked, where.jobs});
    const auto against = [&](std::size_t one, std::size_t other) {
        return rl::compare(part(losses, one, size), part(losses, other, size));
    };
    where.rest();
    where.said("runs: what hindsight would win");
    const auto seen = std::min(size, most_in_hindsight);
    const auto own = part(losses, 0, seen);
    const auto best = best_rates(make, fixed, own, {tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(seen)},
                                 {where.work / ("hindsight-" + asked), where.jobs});
    const run_gate found{.hindsight = rl::compare(best, own),
                         .clock = against(1, 0),
                         .first = against(2, 0),
                         .policy = against(3, 0),
                         .feedback = against(3, 1)};
    auto by_family = gains_by_family(terms.prepared, part(tried, adds ? 2 : 1, tries), part(tried, 0, tries));
    by_family.update(gains_by_family(terms.held_out, part(losses, 3, size), part(losses, 0, size)));

    auto parts = make.rule(ruled, adds).parts();
    parts.best_fixed = rl::schedule_at(fixed);
    parts.passed = found.passed();
    parts.figures =
        nlohmann::json{
            {"tasks", "runs"},
            {"families", list_names(terms.prepared)},
            {"held_out", list_names(terms.held_out)},
            {"blocks", count_blocks(draw_runs(terms.prepared, terms, seed(searches), 0, 64), parts.interval)},
            {"rate_offset", terms.offset},
            {"seed", what.seed},
            {"runs_per_search", terms.generations * terms.population * terms.tasks},
            {"gate_tasks", size},
            {"gate_seed", terms.gate_seed},
            {"gates_asked", gates_in(where.work)},
            {"residual", adds},
            {"curves", curves},
            {"gains", by_family},
            {"gate",
             {{"hindsight", to_json(found.hindsight)},
              {"clock", to_json(found.clock)},
              {"first", to_json(found.first)},
              {"policy", to_json(found.policy)},
              {"feedback", to_json(found.feedback)}}},
            {"before", nlohmann::json::parse(first.parts().figures)}}
            .dump();
    return {rl::prepared_policy(std::move(parts)), found, read_paths(3, tasks, terms, 6, where.work / asked)};
}

}  // namespace rldp::eval
