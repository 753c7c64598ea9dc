#include "rl/prepare/preparation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "config/base/error.hpp"
#include "rl/prepare/splitmix.hpp"

namespace rldp::rl {
namespace {

enum stream : std::uint64_t { prepared_tasks, validation_tasks, gate_tasks, gate_noise, searches, learning, net };

bool names(const std::string& word, const family& one) {
    return one.name.find(word) != std::string::npos;
}

struct sides {
    std::vector<family> prepared, held_out;
};

sides divided(const std::vector<std::string>& held_out) {
    const auto all = families();
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

std::vector<std::string> names_of(const std::vector<family>& all) {
    std::vector<std::string> out(all.size());
    std::transform(all.begin(), all.end(), out.begin(), [](const family& one) { return one.name; });
    return out;
}

// Fewest and most.
std::array<std::int64_t, 2> blocks_of(const std::vector<quadratics>& tasks) {
    std::array<std::int64_t, 2> out = {tasks.front().steps / tasks.front().interval, 0};
    for (const auto& one : tasks) {
        out[0] = std::min(out[0], one.steps / one.interval);
        out[1] = std::max(out[1], one.steps / one.interval);
    }
    return out;
}

}  // namespace

preparation prepare(const preparation_config& config, const std::function<void(const std::string&)>& said) {
    const auto [prepared, held_out] = divided(config.held_out);
    const auto seed = [&](stream which) { return splitmix(config.seed, which).next(); };
    said("drawing tasks");
    const auto draw = [&](const std::vector<family>& from, stream which, std::size_t count) {
        auto out = draw_tasks(from, config.offset, seed(which), count);
        for (auto& one : out) one.probed = config.probed;
        return out;
    };
    const auto tasks = draw(prepared, prepared_tasks, config.tasks);
    const auto validation = draw(prepared, validation_tasks, config.validation_tasks);
    const auto gate = draw(held_out, gate_tasks, config.gate_tasks);

    said("searching a schedule");
    auto searched = config.search;
    searched.seed = seed(searches);
    searched.jobs = config.jobs;
    const auto first = search_schedule(tasks, std::vector<double>(3), searched);
    searched.seed += 1;
    const auto best_schedule = schedule_at(search_schedule(tasks, first, searched));
    said("searching a timetable");
    const auto timed = search_timetable(tasks, first, searched);
    said("searching a rule");
    const auto ruled = search_rule(tasks, first, searched);
    said("learning a residual");
    auto refined = config.refinement;
    refined.seed = seed(learning);
    refined.learner.seed = seed(net);
    refined.jobs = config.jobs;
    const auto residual = refine(tasks, validation, ruled.fixed, ruled.how, refined);

    said("judging on held-out families");
    const prepared_policy refined_policy({.fixed = ruled.fixed,
                                          .best_fixed = best_schedule,
                                          .probed = config.probed,
                                          .interval = tasks.front().interval,
                                          .how = ruled.how,
                                          .normaliser = residual.normaliser,
                                          .guard = residual.guard,
                                          .hidden = refined.learner.hidden,
                                          .actor = residual.actor});
    const trials judging = {seed(gate_noise), config.gate_episodes, config.jobs};
    const auto losses = [&](const contestant& who) { return final_losses(gate, who, judging); };
    const auto common = losses({best_schedule});
    gate_figures found;
    found.hindsight = headroom(gate, best_schedule, judging);
    const contestant by_rule = {ruled.fixed, ruled.how};
    const contestant whole = {ruled.fixed, [&](const sight& seen) { return refined_policy.act(seen); }};
    const auto by_clock = losses(timed), won = losses(whole);
    found.timetable = compare(by_clock, common);
    found.rule = compare(losses(by_rule), common);
    found.policy = compare(won, common);
    found.feedback = compare(won, by_clock);
    std::vector<ablation> parts_of_gain;
    if (config.ablations) {
        said("searching parts of the rule");
        parts_of_gain = ablations({tasks, gate, first, searched, judging, common}, by_rule, whole);
    }

    auto parts = refined_policy.parts();
    const nlohmann::json figures = {
        {"families", names_of(prepared)},
        {"held_out", names_of(held_out)},
        {"blocks", blocks_of(tasks)},
        {"rate_offset", config.offset},
        {"seed", config.seed},
        {"episodes_per_search", searched.generations * searched.population * searched.tasks},
        {"residual_rounds", residual.rounds},
        {"gate",
         {{"hindsight", to_json(found.hindsight)},
          {"timetable", to_json(found.timetable)},
          {"rule", to_json(found.rule)},
          {"policy", to_json(found.policy)},
          {"feedback", to_json(found.feedback)}}}};
    parts.passed = found.passed();
    parts.figures = figures.dump();
    return {prepared_policy(std::move(parts)), found, std::move(parts_of_gain)};
}

}  // namespace rldp::rl
