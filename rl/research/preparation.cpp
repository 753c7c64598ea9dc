#include "rl/research/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "rl/prepared/splitmix.hpp"

namespace rldp::rl {
namespace {

enum stream : std::uint64_t { prepared_tasks, validation_tasks, gate_tasks, gate_noise, searches, learning, net };

struct sides {
    std::vector<family> prepared, held_out;
};

sides divide(const std::vector<family>& all, const std::vector<std::string>& held_out) {
    const auto names = [](const std::string& word, const family& one) {
        return one.name.find(word) != std::string::npos;
    };
    for (const auto& word : held_out)
        refuse_unless(std::any_of(all.begin(), all.end(), [&](const auto& one) { return names(word, one); }),
                      fmt::format("'{}' names no family of tasks", word));
    sides out;
    for (const auto& one : all) {
        const bool held =
            std::any_of(held_out.begin(), held_out.end(), [&](const auto& word) { return names(word, one); });
        (held ? out.held_out : out.prepared).push_back(one);
    }
    refuse_unless(!out.prepared.empty() && !out.held_out.empty(),
                  "a preparation needs families to prepare on, and others that are held out");
    return out;
}

std::vector<std::string> list_names(const std::vector<family>& all) {
    std::vector<std::string> out(all.size());
    std::transform(all.begin(), all.end(), out.begin(), [](const family& one) { return one.name; });
    return out;
}

std::vector<known_plan> list_plans(task_list tasks) {
    std::vector<known_plan> out;
    for (const auto* one : tasks) out.push_back(one->plan());
    return out;
}

/// What the policy sets by the clock, on average over tasks.
timetable find_usual(task_list tasks, const scheduled_policy& who, std::uint64_t seed, int jobs) {
    std::vector<timetable> each(tasks.size());
    for_each_index(tasks.size(), jobs, [&](std::size_t i) {
        std::vector<std::pair<double, double>> set = {{0, 0}};  // t/T and the log factor from then on
        const auto run = tasks[i]->begin(who.fixed.settle(tasks[i]->plan()), splitmix(seed, i).next());
        while (!run->finished()) {
            const auto seen = run->look();
            const auto chosen = who.act(seen);
            set.emplace_back(seen.global[of_run::time], chosen.rate);
            run->play(chosen);
        }
        each[i] = to_timetable(set);
    });
    return mean_of(each);
}

}  // namespace

preparation train_policy(const preparation_config& config, const std::function<void(const std::string&)>& said) {
    const auto seed = [&](stream which) { return splitmix(config.seed, which).next(); };
    said("drawing tasks");
    const auto [families_prepared, families_held_out] = divide(families(), config.held_out);
    const auto drawn = [&](const std::vector<family>& from, stream which, std::size_t count) {
        return draw_tasks(from, config.offset, seed(which), count);
    };
    const auto prepared = drawn(families_prepared, prepared_tasks, config.tasks),
               fresh = drawn(families_prepared, validation_tasks, config.validation_tasks),
               held_out = drawn(families_held_out, gate_tasks, config.gate_tasks);
    const auto tasks = list_tasks(prepared), validation = list_tasks(fresh), gate = list_tasks(held_out);

    said("searching a schedule");
    auto searched = config.search;
    searched.seed = seed(searches);
    searched.jobs = config.jobs;
    const auto first = search_schedule(tasks, config.start, searched);
    searched.seed += 1;
    const auto best_schedule = schedule_at(search_schedule(tasks, first, searched));
    said("searching a timetable");
    const auto timed = search_timetable(tasks, first, searched);
    said("searching a rule");
    const auto ruled = search_rule(tasks, first, config.begin, searched);
    said("learning a residual");
    auto refined = config.refinement;
    refined.seed = seed(learning);
    std::visit([&](auto& learner) { learner.seed = seed(net); }, refined.learner);
    refined.jobs = config.jobs;
    const auto residual = refine(tasks, validation, ruled.fixed, ruled.how, refined);

    said("judging on held-out families");
    prepared_parts parts{.fixed = ruled.fixed,
                         .best_fixed = best_schedule,
                         .interval = steps_per_block,
                         .how = ruled.how,
                         .usual = {},
                         .normaliser = residual.normaliser,
                         .guard = residual.guard,
                         .hidden = residual.hidden,
                         .actor = residual.actor};
    const prepared_policy whole(parts);
    const comparison_seeds judging = {seed(gate_noise), config.gate_episodes, config.jobs};
    const auto losses = [&](const scheduled_policy& who) { return final_losses(gate, who, judging); };
    const scheduled_policy steered = {ruled.fixed, [&](const policy_observation& seen) { return whole.act(seen); }};
    const auto common = losses({best_schedule}), by_clock = losses(timed), won = losses(steered);
    const gate_figures found{.hindsight = headroom(gate, best_schedule, judging),
                             .by_clock = compare(by_clock, common),
                             .rule = compare(losses({ruled.fixed, ruled.how}), common),
                             .policy = compare(won, common),
                             .feedback = compare(won, by_clock),
                             .shuffled = compare(shuffled_losses(gate, steered, judging), common)};

    parts.usual = find_usual(validation, steered, seed(validation_tasks), config.jobs);
    parts.passed = found.passed();
    parts.figures = nlohmann::json{{"tasks", "quadratics"},
                                   {"families", list_names(families_prepared)},
                                   {"held_out", list_names(families_held_out)},
                                   {"seen", to_json(plan_ranges::of(list_plans(tasks), steps_per_block))},
                                   {"rate_offset", config.offset},
                                   {"seed", config.seed},
                                   {"episodes_per_search", searched.generations * searched.population * searched.tasks},
                                   {"residual_rounds", residual.rounds},
                                   {"residual_curve", residual.curve},
                                   {"gate",
                                    {{"hindsight", to_json(found.hindsight)},
                                     {"timetable", to_json(found.by_clock)},
                                     {"rule", to_json(found.rule)},
                                     {"policy", to_json(found.policy)},
                                     {"feedback", to_json(found.feedback)},
                                     {"shuffled", to_json(found.shuffled)}}}}
                        .dump();
    return {prepared_policy(std::move(parts)), found};
}

}  // namespace rldp::rl
