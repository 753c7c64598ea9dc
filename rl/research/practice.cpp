#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "rl/prepared/splitmix.hpp"
#include "rl/research/practice.hpp"

namespace rldp::rl {

void for_each_index(std::size_t count, int jobs, const std::function<void(std::size_t)>& work) {
    require(jobs >= 1, "work needs a thread");
    std::vector<std::exception_ptr> failures(count);
    std::atomic<std::size_t> next = 0;
    const auto serve = [&] {
        for (std::size_t i = next++; i < count; i = next++) try {
                work(i);
            } catch (...) {
                failures[i] = std::current_exception();
            }
    };
    {
        std::vector<std::jthread> others;
        for (int i = 1; i < jobs; ++i) others.emplace_back(serve);
        serve();
    }
    for (const auto& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

namespace {

const double hindsight_reach = std::log(16.0);
constexpr int hindsight_rates = 13;

double mean_final_loss(const task& of, const scheduled_policy& who, std::uint64_t seed, std::size_t episodes) {
    splitmix seeds(seed);
    double out = 0;
    for (std::size_t i = 0; i < episodes; ++i) out += final_loss(of, who, seeds.next());
    return out / static_cast<double>(episodes);
}

schedule best_in_hindsight(const task& of, const schedule& common, std::uint64_t seed, std::size_t episodes) {
    schedule best = common;
    double best_loss = std::numeric_limits<double>::infinity();
    for (int k = 0; k < hindsight_rates; ++k)
        for (const double tilt : {-1.0, common.numbers[schedule::tilt], 0.0}) {
            auto tried = common;
            tried.numbers[schedule::log_rate] += hindsight_reach * (2.0 * k / (hindsight_rates - 1) - 1);
            tried.numbers[schedule::tilt] = tilt;
            const double loss = mean_final_loss(of, {tried}, seed, episodes);
            if (loss < best_loss) {
                best_loss = loss;
                best = tried;
            }
        }
    return best;
}

std::uint64_t derive_seed(const comparison_seeds& how, std::size_t which) {
    return splitmix(how.seed, which).next();
}

std::vector<policy_observation> collect_observations_under(const task& of, const scheduled_policy& who,
                                                           std::uint64_t seed) {
    std::vector<policy_observation> out;
    const auto run = of.begin(who.fixed.settle(of.plan()), seed);
    while (!run->finished()) {
        out.push_back(run->look());
        run->play(who.act(out.back()));
    }
    return out;
}

const policy_observation& at_time(const std::vector<policy_observation>& run, double time) {
    return *std::min_element(run.begin(), run.end(), [&](const policy_observation& a, const policy_observation& b) {
        return std::abs(a.global[of_run::time] - time) < std::abs(b.global[of_run::time] - time);
    });
}

// `own` with the releases of `other`, whose adapters are dealt out in turn.
policy_observation shown(policy_observation own, const policy_observation& other) {
    own.global[of_run::score] = other.global[of_run::score];
    own.scored = other.scored;
    for (std::size_t i = 0; i < own.adapters.size(); ++i)
        for (const auto feature : {of_adapter::signal, of_adapter::cosine, of_adapter::along, of_adapter::update})
            own.adapters[i][feature] = other.adapters[i % other.adapters.size()][feature];
    return own;
}

}  // namespace

double final_loss(const task& of, const scheduled_policy& who, std::uint64_t seed) {
    const auto run = of.begin(who.fixed.settle(of.plan()), seed);
    while (!run->finished()) {
        const auto seen = run->look();
        run->play(who.act ? who.act(seen) : neutral(seen.adapters.size()));
    }
    return run->log_excess();
}

std::vector<double> final_losses(task_list tasks, const scheduled_policy& who, const comparison_seeds& how) {
    std::vector<double> out(tasks.size());
    for_each_index(tasks.size(), how.jobs,
                   [&](std::size_t i) { out[i] = mean_final_loss(*tasks[i], who, derive_seed(how, i), how.episodes); });
    return out;
}

std::vector<double> shuffled_losses(task_list tasks, const scheduled_policy& who, const comparison_seeds& how) {
    require(tasks.size() >= 2 && who.act, "releases are exchanged between two tasks and more, for a policy");
    std::vector<double> out(tasks.size());
    for_each_index(tasks.size(), how.jobs, [&](std::size_t i) {
        const std::size_t other = (i + tasks.size() / 2) % tasks.size();
        const auto seen = collect_observations_under(*tasks[other], who, derive_seed(how, other));
        const scheduled_policy deceived = {who.fixed, [&](const policy_observation& own) {
                                               return who.act(shown(own, at_time(seen, own.global[of_run::time])));
                                           }};
        out[i] = mean_final_loss(*tasks[i], deceived, derive_seed(how, i), how.episodes);
    });
    return out;
}

paired compare(std::span<const double> losses, std::span<const double> others) {
    require(losses.size() == others.size() && losses.size() >= 2, "a comparison is of pairs, two at least");
    const auto n = static_cast<double>(losses.size());
    paired out;
    double squares = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
        out.mean += (losses[i] - others[i]) / n;
        if (losses[i] < others[i]) out.wins += 1 / n;
    }
    for (std::size_t i = 0; i < losses.size(); ++i) squares += std::pow(losses[i] - others[i] - out.mean, 2);
    out.standard_error = std::sqrt(squares / (n - 1) / n);
    return out;
}

nlohmann::json to_json(const paired& one) {
    return {{"mean", one.mean},
            {"standard_error", one.standard_error},
            {"wins", one.wins},
            {"least_gain", one.least_gain()}};
}

paired headroom(task_list tasks, const schedule& common, const comparison_seeds& how) {
    std::vector<double> best(tasks.size());
    for_each_index(tasks.size(), how.jobs, [&](std::size_t i) {
        const auto found = best_in_hindsight(*tasks[i], common, ~derive_seed(how, i), how.episodes);
        best[i] = mean_final_loss(*tasks[i], {found}, derive_seed(how, i), how.episodes);
    });
    return compare(best, final_losses(tasks, {common}, how));
}

}  // namespace rldp::rl
