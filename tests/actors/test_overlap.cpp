// Learning that overlaps with training gives the bits of learning in line, however late it comes.
#include <ATen/ATen.h>

#include <caf/all.hpp>

#include "actors/accountant.hpp"
#include "actors/controller.hpp"
#include "actors/evaluator.hpp"
#include "actors/gradient.hpp"
#include "actors/hub.hpp"
#include "actors/loader.hpp"
#include "actors/sanitizer.hpp"
#include "actors/trainer.hpp"
#include "bench/plain_loop.hpp"
#include "config/config.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

constexpr std::int64_t interval = 4;

config::run_config reproducible_config() {
    return config::load(
        "config/demo.json",
        {"data.path=synthetic:400", "data.max_tokens=24", "train.steps=30", "train.expected_batch_size=6",
         "train.micro_batch=4", "train.eval_every=10", "train.eval_records=2", "rl.interval=4", "rl.warmup=4",
         "rl.batch=2", "noise.insecure_reproducible=true", R"(rl.actions=["radii","noise","lr"])"});
}

/// The same under a prepared policy that goes on learning, whose small batch is full after nine decisions.
config::run_config learning_policy(const std::filesystem::path& policy) {
    return small_prepared(policy, true,
                          {"noise.insecure_reproducible=true", "train.steps=48", "public.path=synthetic:60",
                           "public.steps=3", "rl.online=true"});
}

/// The pipeline on the test scheduler. The controller gets a message only once `delay` further steps were made since
/// its last decision, or when nobody else can go on.
at::Tensor run_with_late_learning(const config::run_config& config, std::int64_t delay,
                                  std::size_t& rounds_while_training) {
    scratch_directory scratch;
    auto opened = create_run(config, scratch / "run");
    const auto& facts = *opened.facts;
    deterministic run;
    captured_log log;
    const auto closed = opened.closed;
    trainer_wiring wiring;
    wiring.hub = run.spawn(make_hub, std::string("test"), show{});
    run.self->send(wiring.hub, announce_atom::value,
                   run_header{facts.where.metrics().string(), facts.plan.steps, 8, 8});
    const auto loader = run.spawn(make_loader, closed, facts.plan.step_rate(), log.logger);
    wiring.sanitizer = run.spawn(make_sanitizer, closed, make_sanitizer_config(facts.spec, facts.model.layout),
                                 std::shared_ptr<privacy::reducer>{}, std::optional<privacy::acknowledgement>{},
                                 facts.where.releases(), log.logger);
    wiring.gradient = run.spawn(make_gradient, closed, facts.model, make_gradient_settings(facts), loader,
                                wiring.sanitizer, log.logger);
    wiring.accountant = run.spawn(make_accountant, opened.parts.budget, make_price_times(facts.spec, facts.plan));
    const auto library = opened.parts.controller;
    wiring.controller = run.spawn(make_controller, library);
    wiring.evaluator = run.spawn(make_evaluator, facts.held_out, closed, make_evaluation_rule(facts, {}), wiring.hub,
                                 log.logger, std::stop_token{});
    const auto steps_ = opened.parts.steps;
    const auto trainer = run.spawn(make_trainer, steps_, wiring,
                                   trainer_schedule{.checkpoint = facts.where.checkpoint(),
                                                    .belongs_to = facts.belongs_to,
                                                    .seal = facts.seal,
                                                    .charged = {},
                                                    .held_out = facts.spec.publish});
    auto answer = run.self->request(trainer, caf::infinite, train_atom::value);

    std::int64_t decided_at = -1;
    std::int64_t decisions = 0;
    bool to_learn = false;  // the controller's message to itself is still to be delivered
    rounds_while_training = 0;
    const auto others = [&] {
        return run.step(trainer) || run.step(wiring.accountant) || run.step(wiring.gradient) || run.step(loader) ||
               run.step(wiring.sanitizer) || run.step(wiring.evaluator) || run.step(wiring.hub);
    };
    for (;;) {
        const bool late = decided_at < 0 || steps_->training().step() >= decided_at + delay;
        if (late && run.step(wiring.controller)) {
            if (library->decisions() > decisions) {
                decisions = library->decisions();
                decided_at = steps_->training().step();
                to_learn = true;
            } else if (std::exchange(to_learn, false) && steps_->training().step() > decided_at) {
                ++rounds_while_training;
            }
        } else if (!others() && !run.step(wiring.controller)) {
            break;
        }
    }
    at::Tensor adapter;
    answer.receive([&](const outcome& ended) { adapter = ended.adapter; },
                   [&](const caf::error& reason) { FAIL(run.system.render(reason)); });
    return adapter;
}

}  // namespace

TEST_CASE("late learning changes no bit: delays of 0, 1 and T_RL − 1 steps equal the plain loop", "[full]") {
    if (!std::filesystem::exists("config/tiny-gpt2/config.json")) {
        WARN("skipped: config/tiny-gpt2 is not there");
        return;
    }
    scratch_directory scratch;
    for (const auto& config : {reproducible_config(), learning_policy(scratch / "policy.safetensors")}) {
        INFO("rl.online " << config.rl.online);
        auto opened = create_run(config, scratch / name_of(config.rl.state.value_or(controller_kind::published)));
        bench::run_plain(opened);
        const auto expected = opened.parts.steps->training().result();
        CHECK_FALSE(at::equal(expected, opened.facts->model.initial_adapter));
        for (const std::int64_t delay : {std::int64_t{0}, std::int64_t{1}, interval - 1}) {
            std::size_t overlapped = 0;
            const auto adapter = run_with_late_learning(config, delay, overlapped);
            INFO("delay " << delay);
            CHECK(at::equal(adapter, expected));
            CHECK((overlapped > 0) == (delay > 0));
        }
    }
}
