#include <array>
#include <numeric>

#include "base/error.hpp"
#include "rl/prepared/splitmix.hpp"
#include "rl/research/cma_es.hpp"
#include "rl/research/practice.hpp"
#include "rl/research/search.hpp"

namespace rldp::rl {
namespace {

std::vector<double> followed_by(std::vector<double> start, const std::vector<double>& more) {
    start.insert(start.end(), more.begin(), more.end());
    return start;
}

}  // namespace

std::vector<double> search(task_list tasks, const std::vector<double>& start,
                           const std::function<scheduled_policy(std::span<const double>)>& scheduled_policy_at,
                           const search_config& how) {
    require(!tasks.empty(), "a search needs tasks");
    cma_es found(start, how.deviation, how.seed, how.population);
    for (std::size_t generation = 0; generation < how.generations; ++generation) {
        std::vector<scheduled_policy> all;
        for (const auto& point : found.ask()) all.push_back(scheduled_policy_at(point));
        std::vector<double> losses(all.size() * how.tasks);
        for_each_index(losses.size(), how.jobs, [&](std::size_t i) {
            const std::size_t episode = generation * how.tasks + i % how.tasks;
            losses[i] =
                final_loss(*tasks[episode % tasks.size()], all[i / how.tasks], splitmix(how.seed, episode).next());
        });
        std::vector<double> means;
        for (auto at = losses.begin(); at != losses.end(); at += static_cast<std::ptrdiff_t>(how.tasks))
            means.push_back(std::accumulate(at, at + static_cast<std::ptrdiff_t>(how.tasks), 0.0));
        found.tell(means);
    }
    return found.mean();
}

std::vector<double> search_schedule(task_list tasks, const std::vector<double>& start, const search_config& how) {
    return search(
        tasks, start, [](std::span<const double> point) { return scheduled_policy{schedule_at(point)}; }, how);
}

ruled_schedule search_rule(task_list tasks, const std::vector<double>& start, const rule& begin,
                           const search_config& how, std::span<const rule::number> free) {
    const auto split_point = [&](std::span<const double> point) {
        return ruled_schedule{schedule_at(point.first(start.size())), rule_at(point.subspan(start.size()), free)};
    };
    const auto scheduled_policy_at = [&](std::span<const double> point) {
        const auto parts = split_point(point);
        return scheduled_policy{parts.fixed, parts.how};
    };
    return split_point(search(tasks, followed_by(start, to_point(begin, free)), scheduled_policy_at, how));
}

ruled_schedule search_rule(task_list tasks, const std::vector<double>& start, const rule& begin,
                           const search_config& how) {
    std::array<rule::number, rule::count> all;
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<rule::number>(k);
    return search_rule(tasks, start, begin, how, all);
}

scheduled_policy search_open_loop_schedule(task_list tasks, const std::vector<double>& start,
                                           const search_config& how) {
    const auto scheduled_policy_at = [&](std::span<const double> point) {
        return scheduled_policy{schedule_at(point.first(start.size())),
                                open_loop_schedule_at(point.subspan(start.size()))};
    };
    return scheduled_policy_at(search(tasks,
                                      followed_by(start, std::vector<double>(open_loop_schedule{}.log_rates.size())),
                                      scheduled_policy_at, how));
}

std::vector<ablation> ablations(const ablation_terms& terms, const scheduled_policy& ruled,
                                const scheduled_policy& whole) {
    std::vector<ablation> out;
    const auto judge = [&](const char* name, const std::vector<double>& losses) {
        out.push_back({name, compare(losses, terms.common)});
    };
    const auto part = [&](const char* name, std::span<const rule::number> free) {
        const auto found = search_rule(terms.tasks, terms.start, {}, terms.search, free);
        judge(name, final_losses(terms.gate, {found.fixed, found.how}, terms.judging));
    };
    constexpr std::array clock = {rule::bias, rule::time, rule::forget};
    constexpr std::array plan = {rule::bias, rule::time, rule::forget, rule::noise};
    constexpr std::array common = {rule::bias,   rule::time,   rule::forget, rule::noise,
                                   rule::signal, rule::cosine, rule::along,  rule::slope};
    constexpr std::array own = {rule::bias,       rule::time,      rule::forget,         rule::noise,
                                rule::own_signal, rule::own_along, rule::share_of_signal};
    constexpr std::array along = {rule::along, rule::forget};
    constexpr std::array deaf = {rule::bias,   rule::time,   rule::forget,     rule::noise,
                                 rule::signal, rule::cosine, rule::own_signal, rule::share_of_signal};
    constexpr std::array blind = {rule::bias,   rule::time,  rule::forget,     rule::noise,     rule::signal,
                                  rule::cosine, rule::along, rule::own_signal, rule::own_along, rule::share_of_signal};
    part("rule of time alone", clock);
    part("of time and noise", plan);
    part("without own levers", common);
    part("without common ones", own);
    part("along and forget alone", along);
    part("without along", deaf);
    part("without the probe", blind);
    judge("rule, shuffled", shuffled_losses(terms.gate, ruled, terms.judging));
    judge("policy, shuffled", shuffled_losses(terms.gate, whole, terms.judging));
    return out;
}

}  // namespace rldp::rl
