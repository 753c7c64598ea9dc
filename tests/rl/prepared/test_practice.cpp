#include "rl/research/practice.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "rl/research/preparation.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepared/made_up.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::rl;

namespace {

preparation_config small_preparation() {
    preparation_config out;
    out.held_out = {"many", "few-steep-warm"};
    out.tasks = 6;
    out.validation_tasks = out.gate_tasks = 4;
    out.gate_episodes = 1;
    out.search.generations = 3;
    out.search.population = 6;
    out.search.tasks = 4;
    out.refinement.rounds = 2;
    out.refinement.episodes = 3;
    out.refinement.judged_every = 1;
    residual_sac_config learner;
    learner.hidden = 8;
    learner.batch = 16;
    learner.replay = 500;
    learner.updates = 3;
    out.refinement.learner = learner;
    return out;
}

schedule falling_schedule() {
    schedule out;
    out.numbers[schedule::tilt] = -1;
    return out;
}

}  // namespace

TEST_CASE("a paired comparison is that of its differences") {
    const std::vector<double> losses = {1, 2, 3, 4}, others = {2, 2, 5, 5};
    const auto found = compare(losses, others);
    CHECK(found.mean == -1);
    CHECK(found.standard_error == Approx(std::sqrt(2.0 / 3 / 4)));
    CHECK(found.wins == 0.75);
    CHECK(found.least_gain() == Approx(1 - 1.96 * std::sqrt(2.0 / 3 / 4)));
    CHECK_THROWS_AS(compare(losses, std::vector<double>{1}), rldp::error);
}

TEST_CASE("the same policy twice is a tie on every task, however many threads play") {
    const auto drawn = draw_tasks(families(), 2, 5, 8);
    const auto tasks = list_tasks(drawn);
    const auto one = final_losses(tasks, {{}, rule{}}, {.seed = 4, .episodes = 2, .jobs = 1});
    CHECK(final_losses(tasks, {{}}, {.seed = 4, .episodes = 2, .jobs = 3}) == one);
    CHECK(final_losses(tasks, {{}}, {.seed = 5, .episodes = 2, .jobs = 1}) != one);
    const auto tie = compare(one, one);
    CHECK(tie.mean == 0);
    CHECK(tie.wins == 0);
    CHECK_FALSE(tie.least_gain() > 0);
}

TEST_CASE("what another run shows changes a policy that listens, and none that goes by the clock") {
    const auto drawn = draw_tasks(families(), 2, 6, 8);
    const auto tasks = list_tasks(drawn);
    const comparison_seeds judging = {.seed = 4, .episodes = 2};
    const scheduled_policy by_clock = {{}, timetable{.log_rates = {0, 0.5, 1}}};
    CHECK(shuffled_losses(tasks, by_clock, judging) == final_losses(tasks, by_clock, judging));
    const scheduled_policy deaf = {{}, rule{{0, 0.3, 0, 1.5}}}, listens = {{}, rule{{0.5, 0.3, 0, 1.5}}};
    CHECK(shuffled_losses(tasks, deaf, judging) == final_losses(tasks, deaf, judging));
    CHECK(shuffled_losses(tasks, listens, judging) != final_losses(tasks, listens, judging));
}

TEST_CASE("work is done once each, and its first failure told") {
    std::vector<int> done(100);
    for_each_index(100, 4, [&](std::size_t i) { ++done[i]; });
    CHECK(done == std::vector<int>(100, 1));
    CHECK(refusal([] {
              for_each_index(50, 3, [](std::size_t i) {
                  if (i % 10 == 7) rldp::refuse("at " + std::to_string(i));
              });
          }) == "at 7");
}

TEST_CASE("hindsight finds what a rate that is off by eight leaves to win") {
    auto drawn = draw_tasks(families(), 1, 21, 16);
    for (auto& task : drawn) task.rate /= 8;
    const auto found = headroom(list_tasks(drawn), falling_schedule(), {.seed = 3});
    CHECK(found.mean < -0.1);
    CHECK(found.least_gain() > 0);
}

TEST_CASE("a search mends a rate that all tasks have wrong") {
    auto drawn = draw_tasks(families(), 1, 22, 16);
    for (auto& task : drawn) task.rate /= 8;
    const auto tasks = list_tasks(drawn);
    const search_config how = {.generations = 10, .population = 8, .tasks = 12, .deviation = 0.5};
    const std::vector<double> start(schedule::count);
    const auto before = schedule_at(start), found = schedule_at(search_schedule(tasks, start, how));
    double mean_log_rate = 0;
    for (const auto& task : drawn) mean_log_rate += found.settle(task.plan()).log_rate / 16;
    CHECK(mean_log_rate > 0.5);
    const comparison_seeds judging = {.seed = 99};
    CHECK(compare(final_losses(tasks, {found}, judging), final_losses(tasks, {before}, judging)).least_gain() > 0);
}

TEST_CASE("a preparation ends in a policy whose file tells its gate, the same for any number of threads") {
    auto config = small_preparation();
    std::vector<std::string> stages;
    const auto found = train_policy(config, [&](const std::string& stage) { stages.push_back(stage); });
    CHECK(stages.size() == 6);
    const auto figures = nlohmann::json::parse(found.policy.parts().figures);
    CHECK(figures.at("held_out").size() == 5);
    CHECK(figures.at("families").size() == 3);
    CHECK(found.policy.parts().passed == found.gate.passed());
    const auto& gate = figures.at("gate");
    CHECK(gate.at("hindsight").at("mean") == found.gate.hindsight.mean);
    CHECK(gate.at("timetable").at("mean") == found.gate.by_clock.mean);
    CHECK(gate.at("rule").at("mean") == found.gate.rule.mean);
    CHECK(gate.at("policy").at("least_gain") == found.gate.policy.least_gain());
    CHECK(gate.at("feedback").at("least_gain") == found.gate.feedback.least_gain());
    CHECK(gate.at("shuffled").at("mean") == found.gate.shuffled.mean);
    CHECK(found.gate.passed() == (found.gate.policy.least_gain() > 0 && found.gate.feedback.least_gain() > 0));
    const auto seen = [&](const char* what) { return figures.at("seen").at(what).get<std::vector<double>>(); };
    CHECK(seen("bands") == std::vector<double>(2, 1));
    CHECK(seen("adapters").back() <= 4);  // of few
    CHECK(seen("blocks").front() >= 10);
    CHECK(seen("blocks").back() <= 100);
    CHECK(seen("noise").front() < seen("noise").back());
    const auto& usual = found.policy.parts().usual.log_rates;
    CHECK(usual.front() == 0);  // before the first score
    CHECK(std::any_of(usual.begin(), usual.end(), [](double rate) { return rate != 0; }));
    CHECK(std::all_of(usual.begin(), usual.end(), [](double rate) { return std::abs(rate) <= rate_limit; }));

    config.jobs = 3;
    const auto again = train_policy(config, [](const std::string&) {});
    CHECK(again.policy.parts().figures == found.policy.parts().figures);
    CHECK(again.policy.parts().how.numbers == found.policy.parts().how.numbers);
    CHECK(again.policy.parts().usual.log_rates == found.policy.parts().usual.log_rates);
    CHECK(at::equal(again.policy.parts().actor, found.policy.parts().actor));
}

TEST_CASE("families that hold nothing out, or everything, are refused") {
    auto config = small_preparation();
    const auto refused = [&](const std::vector<std::string>& held_out) {
        config.held_out = held_out;
        return refusal([&] { train_policy(config, [](const std::string&) {}); });
    };
    CHECK(has(refused({"lukewarm"}), "lukewarm"));
    CHECK(has(refused({}), "held out"));
    CHECK(has(refused({"few", "many"}), "held out"));
}
