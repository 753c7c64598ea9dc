#include "rl/research/preparation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "rl/prepared/splitmix.hpp"
#include "rl/research/bilinear.hpp"

namespace rldp::rl {
namespace {

enum stream : std::uint64_t { prepared_tasks, validation_tasks, gate_tasks, gate_noise, searches, learning, net };

template <class Family>
struct sides {
    std::vector<Family> prepared, held_out;
};

template <class Family>
sides<Family> divided(const std::vector<Family>& all, const std::vector<std::string>& held_out) {
    const auto names = [](const std::string& word, const Family& one) {
        return one.name.find(word) != std::string::npos;
    };
    for (const auto& word : held_out)
        refuse_unless(std::any_of(all.begin(), all.end(), [&](const auto& one) { return names(word, one); }),
                      fmt::format("'{}' names no family of tasks", word));
    sides<Family> out;
    for (const auto& one : all) {
        const bool held =
            std::any_of(held_out.begin(), held_out.end(), [&](const auto& word) { return names(word, one); });
        (held ? out.held_out : out.prepared).push_back(one);
    }
    refuse_unless(!out.prepared.empty() && !out.held_out.empty(),
                  "a preparation needs families to prepare on, and others that are held out");
    return out;
}

template <class Family>
std::vector<std::string> list_names(const std::vector<Family>& all) {
    std::vector<std::string> out(all.size());
    std::transform(all.begin(), all.end(), out.begin(), [](const Family& one) { return one.name; });
    return out;
}

// Fewest and most.
std::array<std::int64_t, 2> count_blocks(task_list tasks) {
    std::array<std::int64_t, 2> out = {tasks.front()->blocks(), 0};
    for (const auto* one : tasks) {
        out[0] = std::min(out[0], one->blocks());
        out[1] = std::max(out[1], one->blocks());
    }
    return out;
}

// Tasks with what they are part of.
struct task_set {
    std::shared_ptr<const void> owner;
    std::vector<const task*> list;
};
template <class Kind>
task_set kept(std::vector<Kind> tasks) {
    const auto owner = std::make_shared<const std::vector<Kind>>(std::move(tasks));
    return {owner, list_tasks(*owner)};
}

struct drawn_tasks {
    std::vector<std::string> families, held_out;
    task_set prepared, validation, gate;
};

template <class Family, class Draw>
drawn_tasks drawn_from(const std::vector<Family>& all, const preparation_config& config, const Draw& draw) {
    const auto [prepared, held_out] = divided(all, config.held_out);
    const auto tasks = [&](const std::vector<Family>& from, stream which, std::size_t count) {
        return kept(draw(from, splitmix(config.seed, which).next(), count));
    };
    return {.families = list_names(prepared),
            .held_out = list_names(held_out),
            .prepared = tasks(prepared, prepared_tasks, config.tasks),
            .validation = tasks(prepared, validation_tasks, config.validation_tasks),
            .gate = tasks(held_out, gate_tasks, config.gate_tasks)};
}

drawn_tasks draw(const preparation_config& config) {
    if (config.kind == task_kind::bilinear) {
        require(!config.probed, "family B has no public records");
        return drawn_from(bilinear_families(), config, [&](const auto& from, std::uint64_t seed, std::size_t count) {
            return draw_tasks(from, config.offset, seed, count);
        });
    }
    return drawn_from(families(), config, [&](const auto& from, std::uint64_t seed, std::size_t count) {
        auto out = draw_tasks(from, config.offset, seed, count);
        for (auto& one : out) one.probed = config.probed;
        return out;
    });
}

}  // namespace

preparation train_policy(const preparation_config& config, const std::function<void(const std::string&)>& said) {
    const auto seed = [&](stream which) { return splitmix(config.seed, which).next(); };
    said("drawing tasks");
    const auto drawn = draw(config);
    const task_list tasks = drawn.prepared.list, gate = drawn.gate.list;

    said("searching a schedule");
    auto searched = config.search;
    searched.seed = seed(searches);
    searched.jobs = config.jobs;
    const auto first = search_schedule(tasks, config.start, searched);
    searched.seed += 1;
    const auto best_schedule = schedule_at(search_schedule(tasks, first, searched));
    said("searching a timetable");
    const auto timed = search_open_loop_schedule(tasks, first, searched);
    said("searching a rule");
    const auto ruled = search_rule(tasks, first, config.begin, searched);
    said("learning a residual");
    auto refined = config.refinement;
    refined.seed = seed(learning);
    std::visit([&](auto& learner) { learner.seed = seed(net); }, refined.learner);
    refined.jobs = config.jobs;
    const auto residual = refine(tasks, drawn.validation.list, ruled.fixed, ruled.how, refined);

    said("judging on held-out families");
    const prepared_policy refined_policy({.fixed = ruled.fixed,
                                          .best_fixed = best_schedule,
                                          .probed = config.probed,
                                          .interval = steps_per_block,
                                          .how = ruled.how,
                                          .normaliser = residual.normaliser,
                                          .guard = residual.guard,
                                          .hidden = residual.hidden,
                                          .actor = residual.actor});
    const comparison_seeds judging = {seed(gate_noise), config.gate_episodes, config.jobs};
    const auto losses = [&](const scheduled_policy& who) { return final_losses(gate, who, judging); };
    const auto common = losses({best_schedule});
    gate_figures found;
    found.hindsight = headroom(gate, best_schedule, judging);
    const scheduled_policy by_rule = {ruled.fixed, ruled.how};
    const scheduled_policy whole = {ruled.fixed,
                                    [&](const policy_observation& seen) { return refined_policy.act(seen); }};
    const auto by_clock = losses(timed), won = losses(whole);
    found.open_loop_schedule = compare(by_clock, common);
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
        {"tasks", config.kind == task_kind::bilinear ? "bilinear" : "quadratics"},
        {"families", drawn.families},
        {"held_out", drawn.held_out},
        {"blocks", count_blocks(tasks)},
        {"rate_offset", config.offset},
        {"seed", config.seed},
        {"episodes_per_search", searched.generations * searched.population * searched.tasks},
        {"residual_rounds", residual.rounds},
        {"residual_curve", residual.curve},
        {"gate",
         {{"hindsight", to_json(found.hindsight)},
          {"timetable", to_json(found.open_loop_schedule)},
          {"rule", to_json(found.rule)},
          {"policy", to_json(found.policy)},
          {"feedback", to_json(found.feedback)}}}};
    parts.passed = found.passed();
    parts.figures = figures.dump();
    return {prepared_policy(std::move(parts)), found, std::move(parts_of_gain)};
}

}  // namespace rldp::rl
