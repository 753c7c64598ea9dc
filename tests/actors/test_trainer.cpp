// The trainer alone, between stand-ins that record what it asks of them.
#include <ATen/ATen.h>

#include <algorithm>
#include <caf/all.hpp>
#include <filesystem>

#include "actors/failure.hpp"
#include "actors/trainer.hpp"
#include "run/checkpoint.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/actors/quiet_hub.hpp"
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

struct recorded {
    std::vector<std::string> calls;  ///< in the order in which they arrived
    std::vector<std::int64_t> evaluated;
    std::int64_t budget = 1000;  ///< steps that the stand-in accountant grants
    std::size_t looks = 0;       ///< that it has granted
};

struct trainer_between_stubs : deterministic {
    explicit trainer_between_stubs(std::int64_t steps, const rounding_watch& watch = {},
                                   const std::vector<std::int64_t>& looks = {}) {
        model = tiny_model();
        rl::training_config plan{};
        plan.steps = steps;
        plan.rate = {.peak = 0.01};
        plan.interval = 4;
        plan.warmup = 2;
        plan.initial_noise_multiplier = 1.5;
        machine = std::make_shared<step_machine>(rl::training(plan, small_method(model), model.initial_adapter),
                                                 evaluation_times{5, 100, looks});
        wiring.accountant = spawn([this](accountant_actor::pointer) -> accountant_actor::behavior_type {
            return {[this](grant_atom, std::int64_t step, double) -> caf::result<charged> {
                        seen.calls.push_back("grant " + std::to_string(step));
                        if (step > seen.budget) return failure(errc::budget_exhausted, "nothing more");
                        return charged{charged_at(static_cast<std::uint64_t>(step), 1.5), 0.1};
                    },
                    [this](look_atom, std::int64_t step) -> caf::result<privacy::look_charge> {
                        seen.calls.push_back("charge look " + std::to_string(step));
                        if (seen.looks == 2) return failure(errc::budget_exhausted, "no look is left");
                        return paid.looks.at(seen.looks++);
                    },
                    [](progress_atom) { return 0.5; }, [](refresh_atom) {}};
        });
        wiring.gradient = spawn([this](gradient_actor::pointer) -> gradient_actor::behavior_type {
            return {[this](compute_atom, const step_task& task) -> caf::result<privacy::release> {
                seen.calls.push_back("compute " + std::to_string(task.order.charged->step));
                if (task.order.charged->step == gives_up_at) {
                    self->send(actor, stop_atom::value);
                    return stopped();
                }
                privacy::release out{task.order.charged, at::ones_like(task.adapter), {}, {}};
                out.statistics.assign(3 * task.order.terms.radii.size() + 5, 0.1);
                return out;
            }};
        });
        wiring.sanitizer = spawn([this](sanitizer_actor::pointer) -> sanitizer_actor::behavior_type {
            return {
                [](begin_atom, const privacy::step_order&) {},
                [](clip_atom, const trusted<privacy::unit_gradients>&) {}, [](finish_atom) { return blank_release(); },
                [this](forget_atom) -> caf::result<void> {
                    seen.calls.emplace_back(std::filesystem::exists(scratch / "c.safetensors") ? "forget"
                                                                                               : "forget too early");
                    if (stuck_log) return failure(errc::failed, "releases.log can't be cut");
                    return caf::unit;
                }};
        });
        wiring.controller = spawn([this](controller_actor::pointer) -> controller_actor::behavior_type {
            return {[this](decide_atom, const rl::block_observation& at) {
                        seen.calls.push_back("decide");
                        CHECK(at.released.epsilon == 0.5);
                        rl::block_action out;
                        out.radii.assign(at.base_radii.size(), 0.7);
                        out.noise_multiplier = 2;
                        return out;
                    },
                    [](learn_atom) {}, [](save_atom) { return std::string("bytes"); }};
        });
        wiring.evaluator = spawn([this](evaluator_actor::pointer self_) -> evaluator_actor::behavior_type {
            return {[this, self_](look_atom, const privacy::look_charge& charged,
                                  const snapshot& at) -> caf::result<std::int64_t> {
                        seen.calls.push_back("look " + std::to_string(charged->look));
                        seen.evaluated.push_back(at.step);
                        if (!slow_evaluator) return at.step;
                        evaluating = self_->make_response_promise<std::int64_t>();
                        return evaluating;
                    },
                    [this, self_](evaluate_atom, const snapshot& at) -> caf::result<std::int64_t> {
                        seen.evaluated.push_back(at.step);
                        if (!slow_evaluator) return at.step;
                        evaluating = self_->make_response_promise<std::int64_t>();
                        return evaluating;
                    },
                    [this](settle_atom, const snapshot&) {  // of the test: the evaluation under way is done
                        if (evaluating.pending()) evaluating.deliver(std::int64_t{0});
                        return evaluations{};
                    }};
        });
        wiring.hub = spawn([](hub_actor::pointer) { return make_quiet_hub(); });
        actor = spawn(make_trainer, machine, wiring,
                      trainer_schedule{scratch / "c.safetensors",
                                       "run",
                                       privacy::file_seal(privacy::run_key::insecure_from_seed(1)),
                                       {},
                                       watch,
                                       looks.empty() ? publication::raw : publication::noised});
    }

    scratch_directory scratch;
    run_model model;
    privacy::ledger_content paid = looked_at(2, 1);
    recorded seen;
    trainer_wiring wiring;
    std::shared_ptr<step_machine> machine;
    trainer_actor actor;
    bool stuck_log = false;        ///< of the releases
    bool slow_evaluator = false;   ///< answers when the test says so
    std::int64_t gives_up_at = 0;  ///< the stand-in for gradients, once the run is stopped at that step
    caf::typed_response_promise<std::int64_t> evaluating;
};

}  // namespace

TEST_CASE("the trainer asks for a grant before it asks for each step, decides at block ends, evaluates on schedule") {
    trainer_between_stubs side(9);
    const auto ended = side.ask<outcome>(side.actor, train_atom::value);
    REQUIRE(ended);
    CHECK(ended->how == ending::done);
    CHECK(ended->steps_done == 9);
    CHECK(side.seen.calls == std::vector<std::string>{"grant 1",   "compute 1", "grant 2",   "compute 2", "grant 3",
                                                      "compute 3", "grant 4",   "compute 4", "decide",    "grant 5",
                                                      "compute 5", "forget",    "grant 6",   "compute 6", "grant 7",
                                                      "compute 7", "grant 8",   "compute 8", "decide",    "grant 9",
                                                      "compute 9", "forget"});
    CHECK(side.seen.evaluated == std::vector<std::int64_t>{0, 5, 9});
    CHECK(side.machine->training().radii() == std::vector<double>(side.model.layout.pairs.size(), 0.7));
    CHECK_FALSE(at::equal(ended->adapter, side.model.initial_adapter));
}

TEST_CASE("what watches rounding is asked before every grant, and where it finds too much nothing more is granted") {
    std::vector<std::int64_t> asked;
    trainer_between_stubs side(9, [&](std::int64_t step, const at::Tensor& adapter, const auto& shape) {
        asked.push_back(step);
        CHECK(adapter.defined());
        CHECK_FALSE(shape);
        if (step == 3) throw error(errc::failed, "rounding: too much");
    });
    CHECK_FALSE(side.ask<outcome>(side.actor, train_atom::value));
    CHECK(asked == std::vector<std::int64_t>{1, 2, 3});
    CHECK(side.seen.calls == std::vector<std::string>{"grant 1", "compute 1", "grant 2", "compute 2"});
}

TEST_CASE("no grant, no step: an exhausted budget ends training cleanly with a checkpoint") {
    trainer_between_stubs side(9);
    side.seen.budget = 3;
    const auto ended = side.ask<outcome>(side.actor, train_atom::value);
    REQUIRE(ended);
    CHECK(ended->how == ending::budget_exhausted);
    CHECK(ended->steps_done == 3);
    CHECK(side.seen.calls.back() == "forget");
    CHECK(std::count(side.seen.calls.begin(), side.seen.calls.end(), "compute 4") == 0);
}

TEST_CASE("a log of releases that can't be cut ends the run, after the last step, too") {
    const std::int64_t steps = GENERATE(4, 9);  // a checkpoint at the end, or before it
    trainer_between_stubs side(steps);
    side.stuck_log = true;
    CHECK_FALSE(side.ask<outcome>(side.actor, train_atom::value));
    CHECK(std::count(side.seen.calls.begin(), side.seen.calls.end(), "forget") == 1);
}

TEST_CASE("a stop takes effect after the step under way") {
    trainer_between_stubs side(9);
    auto answer = side.self->request(side.actor, caf::infinite, train_atom::value);
    REQUIRE(side.step(side.actor));  // the request: asks for the first grant
    side.self->send(side.actor, stop_atom::value);
    side.run();
    answer.receive(
        [&](const outcome& ended) {
            CHECK(ended.how == ending::interrupted);
            CHECK(ended.steps_done == 1);
        },
        [&](const caf::error& reason) { FAIL(side.system.render(reason)); });
}

TEST_CASE("a step that is given up is lost, and stays charged") {
    trainer_between_stubs side(9);
    side.gives_up_at = 2;
    const auto ended = side.ask<outcome>(side.actor, train_atom::value);
    REQUIRE(ended);
    CHECK(ended->how == ending::interrupted);
    CHECK(ended->steps_done == 2);
    CHECK(ended->steps_lost == 1);
    const auto left =
        read_checkpoint(side.scratch / "c.safetensors", privacy::file_seal(privacy::run_key::insecure_from_seed(1)));
    CHECK(left.charged.seq == 2);
    CHECK(side.seen.calls.back() == "forget");
}

TEST_CASE("a stop does not wait for an evaluation, and the checkpoint holds what was to be evaluated") {
    trainer_between_stubs side(12);
    side.slow_evaluator = true;
    auto answer = side.self->request(side.actor, caf::infinite, train_atom::value);
    side.run();
    REQUIRE(side.seen.calls.back() == "compute 5");  // waits for the evaluation of the adapter before the first step
    side.self->send(side.actor, stop_atom::value);
    REQUIRE(side.ask<evaluations>(side.wiring.evaluator, settle_atom::value, snapshot{}));  // is given up
    answer.receive([&](const outcome& ended) { CHECK(ended.how == ending::interrupted); },
                   [&](const caf::error& reason) { FAIL(side.system.render(reason)); });
    const auto left =
        read_checkpoint(side.scratch / "c.safetensors", privacy::file_seal(privacy::run_key::insecure_from_seed(1)));
    REQUIRE(left.evaluating);
    CHECK(left.evaluating->step == 0);
    CHECK(side.seen.evaluated == std::vector<std::int64_t>{0});  // that of step 5 is due again where it goes on
}

TEST_CASE("where evaluation is slower than training, training waits rather than pile up snapshots") {
    trainer_between_stubs side(12);
    side.slow_evaluator = true;
    side.self->send(side.actor, train_atom::value);
    side.run();
    CHECK(side.seen.evaluated == std::vector<std::int64_t>{0});
    CHECK(side.seen.calls.back() == "compute 5");  // the next snapshot is due, the first is still being evaluated
    REQUIRE(side.ask<evaluations>(side.wiring.evaluator, settle_atom::value, snapshot{}));
    CHECK(side.seen.evaluated == std::vector<std::int64_t>{0, 5});
    CHECK(side.seen.calls.back() == "compute 10");
    side.slow_evaluator = false;
    REQUIRE(side.ask<evaluations>(side.wiring.evaluator, settle_atom::value, snapshot{}));
    CHECK(side.seen.evaluated == std::vector<std::int64_t>{0, 5, 10, 12});
}

TEST_CASE("a look is charged before it is made, and before the step behind it") {
    trainer_between_stubs side(3, {}, {0, 2});
    const auto ended = side.ask<outcome>(side.actor, train_atom::value);
    REQUIRE(ended);
    CHECK(side.seen.evaluated == std::vector<std::int64_t>{0, 2});
    const auto at = [&](const std::string& call) {
        return std::find(side.seen.calls.begin(), side.seen.calls.end(), call) - side.seen.calls.begin();
    };
    CHECK(at("charge look 0") < at("look 1"));
    CHECK(at("charge look 0") < at("grant 1"));
    CHECK(at("compute 2") < at("charge look 2"));
    CHECK(at("charge look 2") < at("grant 3"));
    CHECK(at("charge look 2") < at("look 2"));
}

TEST_CASE("what an exhausted budget ends is looked at where it ended, if a look is left") {
    for (const std::size_t made : {1U, 2U}) {
        trainer_between_stubs side(9, {}, {0, 9});
        side.seen.budget = 4;
        side.seen.looks = made - 1;
        const auto ended = side.ask<outcome>(side.actor, train_atom::value);
        REQUIRE(ended);
        CHECK(ended->how == ending::budget_exhausted);
        CHECK(side.seen.evaluated.back() == (made == 1 ? 4 : 0));
    }
}

TEST_CASE("a stopped run does not look, and a look is never asked for again") {
    trainer_between_stubs side(9, {}, {0, 4});
    side.gives_up_at = 4;
    const auto ended = side.ask<outcome>(side.actor, train_atom::value);
    REQUIRE(ended);
    CHECK(ended->how == ending::interrupted);
    CHECK(side.seen.evaluated == std::vector<std::int64_t>{0});
    const auto left =
        read_checkpoint(side.scratch / "c.safetensors", privacy::file_seal(privacy::run_key::insecure_from_seed(1)));
    CHECK_FALSE(left.evaluating);
}

TEST_CASE(
    "a checkpoint that comes while a look is under way is written behind a later step, and a stop waits for the look") {
    trainer_between_stubs side(12, {}, {3});
    side.slow_evaluator = true;
    auto answer = side.self->request(side.actor, caf::infinite, train_atom::value);
    side.run();
    CHECK(std::find(side.seen.calls.begin(), side.seen.calls.end(), "compute 11") != side.seen.calls.end());
    CHECK_FALSE(std::filesystem::exists(side.scratch / "c.safetensors"));
    side.slow_evaluator = false;
    REQUIRE(side.ask<evaluations>(side.wiring.evaluator, settle_atom::value, snapshot{}));
    answer.receive([](const outcome& ended) { CHECK(ended.how == ending::done); },
                   [&](const caf::error& reason) { FAIL(side.system.render(reason)); });

    trainer_between_stubs stopped(12, {}, {3});
    stopped.slow_evaluator = true;
    stopped.gives_up_at = 5;
    auto ends = stopped.self->request(stopped.actor, caf::infinite, train_atom::value);
    stopped.run();
    CHECK_FALSE(std::filesystem::exists(stopped.scratch / "c.safetensors"));
    REQUIRE(stopped.ask<evaluations>(stopped.wiring.evaluator, settle_atom::value, snapshot{}));
    ends.receive([](const outcome& ended) { CHECK(ended.how == ending::interrupted); },
                 [&](const caf::error& reason) { FAIL(stopped.system.render(reason)); });
    CHECK(std::filesystem::exists(stopped.scratch / "c.safetensors"));
}
