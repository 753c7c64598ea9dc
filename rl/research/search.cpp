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
                           const search_config& how) {
    const auto split_point = [&](std::span<const double> point) {
        return ruled_schedule{schedule_at(point.first(start.size())), rule_at(point.subspan(start.size()))};
    };
    const auto scheduled_policy_at = [&](std::span<const double> point) {
        const auto parts = split_point(point);
        return scheduled_policy{parts.fixed, parts.how};
    };
    return split_point(search(tasks, followed_by(start, to_point(begin)), scheduled_policy_at, how));
}

scheduled_policy search_timetable(task_list tasks, const std::vector<double>& start, const search_config& how) {
    const auto scheduled_policy_at = [&](std::span<const double> point) {
        return scheduled_policy{schedule_at(point.first(start.size())), timetable_at(point.subspan(start.size()))};
    };
    return scheduled_policy_at(
        search(tasks, followed_by(start, std::vector<double>(timetable{}.log_rates.size())), scheduled_policy_at, how));
}

}  // namespace rldp::rl
