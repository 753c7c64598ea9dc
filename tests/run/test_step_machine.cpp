// The order of a run's steps, without anybody who drives them.
#include "run/train/training.hpp"

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

using due = step_machine::due;

/// So many steps, of which the mean of the last half is kept; decisions after every block.
rl::training_config averaged(std::int64_t steps, std::int64_t interval) {
    rl::training_config out{};
    out.steps = steps;
    out.rate = {.peak = 0.01};
    out.average = {.how = averaging::tail, .window = 0.5, .steps = steps};
    out.interval = interval;
    out.initial_noise_multiplier = 1.5;
    return out;
}

/// Decisions after steps 4 and 8, evaluations and checkpoints after every fifth of nine.
step_machine nine_steps(const run_model& model) {
    rl::training_config plan{};
    plan.steps = 9;
    plan.rate = {.peak = 0.01};
    plan.interval = 4;
    plan.warmup = 2;
    plan.initial_noise_multiplier = 1.5;
    return {rl::training(plan, small_method(model), model.initial_adapter), {5, 100}};
}

privacy::release make_release(const run_model& model, const privacy::step_order& order) {
    privacy::release out{order.charged, at::ones_like(model.initial_adapter), {}, {}};
    out.statistics.assign(3 * order.terms.radii.size() + 5, 0.1);
    return out;
}

eval::metrics_line take_step(step_machine& machine, const run_model& model) {
    const auto charged = charged_at(static_cast<std::uint64_t>(machine.next_step()), 1.5);
    const auto released = make_release(model, machine.order(charged));
    return machine.apply(charged, &released, {0.1, 2});
}

rl::block_action make_radii(const step_machine& machine, double radius) {
    rl::block_action out;
    out.radii.assign(machine.training().radii().size(), radius);
    out.noise_multiplier = 2;
    return out;
}

/// Does what is due, in a word each, until so many steps are behind it or the end is there.
std::vector<std::string> drive(step_machine& machine, const run_model& model, std::int64_t until) {
    std::vector<std::string> done;
    for (;;) switch (machine.next()) {
            case due::decision:
                machine.observe(0.5);
                machine.decide(make_radii(machine, 0.7));
                done.emplace_back("decide");
                break;
            case due::evaluation:
                machine.evaluated();
                done.emplace_back("evaluate");
                break;
            case due::checkpoint:
                machine.saved();
                done.emplace_back("save");
                break;
            case due::step:
                if (machine.next_step() > until) return done;
                done.push_back(std::to_string(take_step(machine, model).step));
                break;
            case due::end:
                done.emplace_back("end");
                return done;
        }
}

}  // namespace

TEST_CASE("after a step come decision, evaluation and checkpoint, each where it is due and once") {
    const auto model = tiny_model();
    auto machine = nine_steps(model);
    CHECK(drive(machine, model, 9) == std::vector<std::string>{"evaluate", "1", "2", "3", "4", "decide", "5",
                                                               "evaluate", "save", "6", "7", "8", "decide", "9",
                                                               "evaluate", "end"});
}

TEST_CASE("what is due stays due until it is done") {
    const auto model = tiny_model();
    auto machine = nine_steps(model);
    CHECK(machine.next() == due::evaluation);
    CHECK(machine.next() == due::evaluation);
    machine.evaluated();
    for (int step = 1; step <= 4; ++step) {
        CHECK(machine.next() == due::step);
        take_step(machine, model);
    }
    CHECK(machine.next() == due::decision);
    CHECK(machine.next() == due::decision);
}

TEST_CASE("a step's metrics tell the radii that it was clipped to, not those that it led to") {
    const auto model = tiny_model();
    auto machine = nine_steps(model);
    drive(machine, model, 4);
    const auto before = machine.training().radii();
    CHECK(before == std::vector<double>(before.size(), 0.7));  // the decision's
    const auto line = take_step(machine, model);
    CHECK(line.step == 5);
    CHECK(line.radii == before);
    CHECK(line.noise_multiplier == 1.5);
    CHECK(line.progress == eval::progress_price{0.1, 2});
}

TEST_CASE("a method's probes lie along what the last step changed, and after a restore, too") {
    const auto model = tiny_model();
    const auto of_hyfreedp = [&] {
        privacy::method_config how{.name = "hyfreedp", .pair_sizes = {model.layout.dimension}};
        how.expected_batch = 4;
        how.statistics_share = 0.1;
        how.initial_radius = how.clip_min = how.clip_max = 1;
        how.stabiliser = 0.01;
        rl::training_config plan{};
        plan.steps = 12;
        plan.rate = {.peak = 0.01};
        return step_machine{rl::training(plan, privacy::make_method(how), model.initial_adapter), {5, 100}};
    };
    auto machine = of_hyfreedp();
    std::vector<at::Tensor> seen = {machine.training().adapter()};
    for (std::uint64_t seq = 1; seq <= 10; ++seq) {
        const auto order = machine.order(charged_at(seq, 1.5));
        CHECK(order.probes.empty());
        const privacy::release released{order.charged, at::randn_like(model.initial_adapter), {}, {}};
        machine.apply(order.charged, &released, {0.1, 2});
        seen.push_back(machine.training().adapter());
    }
    const auto order = machine.order(charged_at(11, 1.5));
    REQUIRE(order.probes.size() == 3);
    CHECK(at::equal(order.probes[0], seen[10]));
    CHECK(at::allclose(order.probes[1], seen[9], 0, 1e-7));
    CHECK(at::allclose(order.probes[2], 2 * seen[9] - seen[10], 0, 1e-6));
    CHECK_FALSE(at::allclose(seen[9], seen[10], 0, 1e-3));
    auto restored = of_hyfreedp();
    restored.restore(machine.training().snapshot());
    const auto again = restored.order(charged_at(11, 1.5));
    for (std::size_t i = 0; i < 3; ++i) CHECK(at::equal(again.probes[i], order.probes[i]));
}

TEST_CASE("behind the last step, and only there, the last iterate or the average is chosen, once") {
    const auto model = tiny_model();
    int asked = 0;
    const auto with = [&](const iterate_choice& choice) {
        return step_machine{rl::training(averaged(6, 4), small_method(model), model.initial_adapter), {5, 100}, choice};
    };
    const auto chosen = [&](bool last) {
        return with([&asked, last](const at::Tensor& one, const at::Tensor& other) {
            CHECK_FALSE(at::equal(one, other));
            ++asked;
            return last;
        });
    };
    auto average = chosen(false), last = chosen(true), unasked = with({});
    for (auto* machine : {&average, &last, &unasked}) drive(*machine, model, 5);
    CHECK(asked == 0);
    CHECK(last.kept().empty());
    for (auto* machine : {&average, &last, &unasked}) drive(*machine, model, 6);
    CHECK(asked == 2);
    CHECK(average.kept() == "average");
    CHECK(last.kept() == "last");
    CHECK(unasked.kept().empty());
    CHECK(at::equal(last.training().result(), last.training().adapter()));
    CHECK(at::equal(average.training().result(), average.training().average()));
    CHECK_FALSE(at::equal(average.training().result(), average.training().adapter()));
    auto restored = chosen(false);
    restored.restore(last.training().snapshot());
    CHECK(asked == 2);
    CHECK(restored.kept() == "last");
}

TEST_CASE("a public probe is asked of the last iterate behind each block, and of nothing else") {
    const auto model = tiny_model();
    std::vector<at::Tensor> asked;
    step_machine machine(rl::training(averaged(9, 3), small_method(model), model.initial_adapter), {5, 100}, {},
                         [&](const at::Tensor& adapter) {
                             asked.push_back(adapter);
                             return 0.25 * static_cast<double>(asked.size());
                         });
    for (const std::int64_t until : {3, 6}) {
        drive(machine, model, until);
        REQUIRE(asked.size() == static_cast<std::size_t>(until / 3));
        CHECK(at::equal(asked.back(), machine.training().adapter()));
    }
    CHECK(machine.observe(1).log_public_loss == 0.75);
}

TEST_CASE("a lost step moves on without an update") {
    const auto model = tiny_model();
    auto machine = nine_steps(model);
    machine.evaluated();
    const auto line = machine.apply(charged_at(1, 1.5), nullptr, {0.1, 2});
    CHECK(line.step == 1);
    CHECK_FALSE(line.loss_released);
    CHECK(machine.training().lost() == 1);
    CHECK(at::equal(machine.training().adapter(), model.initial_adapter));
    CHECK(machine.next() == due::step);
}

TEST_CASE("a machine that is restored owes the evaluation of where it stands, and no checkpoint") {
    const auto model = tiny_model();
    auto first = nine_steps(model);
    drive(first, model, 5);
    auto second = nine_steps(model);
    second.restore(first.training().snapshot());
    CHECK(second.next_step() == 6);
    CHECK(drive(second, model, 9) ==
          std::vector<std::string>{"evaluate", "6", "7", "8", "decide", "9", "evaluate", "end"});
}
