#include "rl/research/families.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/rl/prepared/made_up.hpp"

using namespace rldp::rl;

TEST_CASE("tasks are as their family says, and the same for the same seed") {
    const auto all = families();
    REQUIRE(all.size() == 8);
    const auto tasks = draw_tasks(all, 1, 3, 16), again = draw_tasks(all, 8, 3, 16);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto& from = all[i % 8];
        const auto& task = tasks[i];
        CHECK(static_cast<double>(task.sizes.size()) >= from.adapters.low);
        CHECK(static_cast<double>(task.sizes.size()) <= from.adapters.high);
        CHECK(task.start == again[i].start);
        CHECK(std::abs(std::log(again[i].rate / task.rate)) <= std::log(8.0));
        CHECK(task.rate != again[i].rate);
    }
}

TEST_CASE("tasks' plans are those that runs have, from end to end") {
    known_plan least = {.steps = 400, .noise = 2}, most = {.steps = 40, .noise = -5};
    for (const auto& task : draw_tasks(families(), 16, 5, 40)) {
        const auto plan = task.plan();
        CHECK((plan.steps >= 40 && plan.steps <= 400));
        CHECK(plan.steps == 4 * task.blocks());
        CHECK((plan.noise >= -5 - 1e-9 && plan.noise <= 2 + 1e-9));
        CHECK(plan.adapters == task.sizes.size());
        CHECK(plan.bands == 1);
        least = {std::min(least.steps, plan.steps), std::min(least.noise, plan.noise), 1, 1};
        most = {std::max(most.steps, plan.steps), std::max(most.noise, plan.noise), 1, 1};
    }
    CHECK(least.steps < 60);
    CHECK(most.steps > 300);
    CHECK(least.noise < -4);
    CHECK(most.noise > 1);
}

TEST_CASE("at the start a unit's gradient has the family's coherence") {
    auto from = families().front();
    from.coherence = {0.1, 0.1};
    const auto task = draw_tasks(std::vector{from}, 1, 1, 1).front();
    double mean = 0, noise = 0;
    for (std::size_t k = 0; k < task.start.size(); ++k) {
        mean += std::pow(task.curvatures[k] * task.start[k], 2);
        noise += task.unit_noise * task.curvatures[k];
    }
    CHECK(std::sqrt(mean / (mean + noise)) == Approx(0.1));
}

TEST_CASE("a task is tuned: eight times the rate and an eighth of it are worse") {
    double high = 0, low = 0;
    for (const auto& task : draw_tasks(families(), 1, 11, 24)) {
        const auto loss_at = [&](double log_rate) {
            return played(task, {.log_rate = log_rate, .tilt = -1}, 9, neutral(task.sizes.size()));
        };
        high += loss_at(std::log(8.0)) - loss_at(0);
        low += loss_at(-std::log(8.0)) - loss_at(0);
    }
    CHECK(high > 0);
    CHECK(low > 0);
}
