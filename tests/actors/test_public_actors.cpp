// Accountant, controller and trainer, one message at a time.
#include <ATen/ATen.h>

#include <caf/all.hpp>

#include "actors/accountant.hpp"
#include "actors/controller.hpp"
#include "actors/failure.hpp"
#include "actors/trainer.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "rl/published_controller.hpp"
#include "run/checkpoint.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"
#include "tests/rl/learners.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

std::shared_ptr<privacy::budget> new_budget(const std::filesystem::path& ledger, std::int64_t steps,
                                            std::int64_t looks = 0) {
    privacy::spending_plan plan{};
    plan.epsilon_budget = 2;
    plan.delta = 1e-5;
    plan.sample_rate = 0.01;
    plan.steps = steps;
    plan.interval = 4;
    plan.accountant = "rdp";
    auto policy = privacy::make_policy(policy_kind::fixed, plan);
    privacy::ledger_header header;
    header.delta = plan.delta;
    header.sample_rate = plan.sample_rate;
    header.population = 1000;
    header.steps = steps;
    header.policy = "fixed";
    header.accountant = "rdp";
    header.semantics = semantics::sound;
    header.unit = "record";
    header.split = "hash";
    header.epsilon_budget = plan.epsilon_budget;
    header.epsilon_guaranteed = policy->epsilon_guaranteed();
    header.data_hmac = std::string(64, 'a');
    if (looks > 0) {
        header.held_out = publication::noised;
        header.looks = {looks, 4};
    }
    return std::make_shared<privacy::budget>(std::move(policy), privacy::ledger::create(ledger, header));
}

rl::published_controller new_controller(std::size_t groups) {
    auto config = testing::small_controller(groups);
    config.learner.batch = 2;
    return rl::published_controller(config);
}

privacy::observation some_observation(std::size_t groups, double loss) {
    privacy::observation seen;
    seen.quartiles.assign(3 * groups, 0.1);
    seen.loss = loss;
    seen.utility = -loss;
    seen.epsilon = 3 - loss;
    return seen;
}

}  // namespace

TEST_CASE("a grant is in the ledger before it is answered, and the end of the budget is its own error") {
    deterministic run;
    scratch_directory scratch;
    const auto actor = run.spawn(make_accountant, new_budget(scratch / "ledger.jsonl", 2), price_times{4, {5, 100}, 8});
    for (std::int64_t step = 1; step <= 2; ++step) {
        const auto granted = run.ask<charged>(actor, grant_atom::value, step, 1.0);
        REQUIRE(granted);
        const auto ledger = privacy::read_ledger(scratch / "ledger.jsonl");
        REQUIRE(ledger.charges.size() == static_cast<std::size_t>(step));
        CHECK(ledger.charges.back()->hash == granted->charge->hash);
    }
    const auto refused = run.ask<charged>(actor, grant_atom::value, std::int64_t{3}, 1.0);
    REQUIRE_FALSE(refused);
    CHECK(to_exception(refused.error()).code() == errc::budget_exhausted);
    CHECK(privacy::read_ledger(scratch / "ledger.jsonl").charges.size() == 2);
}

TEST_CASE("a look is in the ledger before it is answered, once at a step, and no more often than planned") {
    deterministic run;
    scratch_directory scratch;
    const auto actor =
        run.spawn(make_accountant, new_budget(scratch / "ledger.jsonl", 2, 2), price_times{4, {5, 100}, 8});
    const auto first = run.ask<privacy::look_charge>(actor, look_atom::value, std::int64_t{0});
    REQUIRE(first);
    CHECK(privacy::read_ledger(scratch / "ledger.jsonl").looks.at(0)->hash == (*first)->hash);
    const auto refused = [&](std::int64_t step) {
        const auto again = run.ask<privacy::look_charge>(actor, look_atom::value, step);
        return !again && to_exception(again.error()).code() == errc::budget_exhausted;
    };
    CHECK(refused(0));
    REQUIRE(run.ask<charged>(actor, grant_atom::value, std::int64_t{1}, 1.0));
    CHECK(run.ask<privacy::look_charge>(actor, look_atom::value, std::int64_t{1}));
    REQUIRE(run.ask<charged>(actor, grant_atom::value, std::int64_t{2}, 1.0));
    CHECK(refused(2));
    CHECK(privacy::read_ledger(scratch / "ledger.jsonl").looks.size() == 2);
}

TEST_CASE("progress ε is priced at a block's end and at evaluations, after the grant was answered") {
    deterministic run;
    scratch_directory scratch;
    const auto actor = run.spawn(make_accountant, new_budget(scratch / "ledger.jsonl", 8), price_times{4, {5, 100}, 8});
    for (std::int64_t step = 1; step <= 3; ++step) REQUIRE(run.ask<charged>(actor, grant_atom::value, step, 1.0));
    CHECK(run.state<accountant_state>(actor).priced == 0);
    run.self->send(actor, grant_atom::value, std::int64_t{4}, 1.0);
    REQUIRE(run.step(actor));
    CHECK(run.state<accountant_state>(actor).priced == 0);
    REQUIRE(run.step(actor));
    CHECK(run.state<accountant_state>(actor).priced == 4);
    const auto progress = run.ask<double>(actor, progress_atom::value);
    REQUIRE(progress);
    CHECK(*progress > 0);
    CHECK(*progress <= 2);
    const auto fifth = run.ask<charged>(actor, grant_atom::value, std::int64_t{5}, 1.0);  // an evaluation's step
    REQUIRE(fifth);
    CHECK(fifth->progress == eval::progress_price{*progress, 4});
    const auto sixth = run.ask<charged>(actor, grant_atom::value, std::int64_t{6}, 1.0);
    REQUIRE(sixth);
    CHECK(sixth->progress.step == 5);
    CHECK(sixth->progress.epsilon > *progress);
    const auto seventh = run.ask<charged>(actor, grant_atom::value, std::int64_t{7}, 1.0);
    REQUIRE(seventh);
    CHECK(seventh->progress == sixth->progress);
}

TEST_CASE("the controller answers before it learns, and learning comes before the next decision") {
    deterministic run;
    const std::size_t groups = 3;
    auto alone = new_controller(groups);
    const auto library = std::make_shared<rl::published_controller>(new_controller(groups));
    const auto actor = run.spawn(make_controller, library);
    const std::vector<double> medians(groups, 0.2);
    for (int i = 0; i < 6; ++i) {
        const auto seen = some_observation(groups, 2.0 - 0.1 * i);
        run.self->send(actor, decide_atom::value, rl::block_observation{seen, medians});
        REQUIRE(run.step(actor));
        CHECK(library->decisions() == i + 1);
        const auto before = library->save();
        const auto expected = alone.decide({seen, medians});
        alone.learn();
        CHECK((before == alone.save()) == (i < 2));  // the first decisions bring nothing to learn from
        REQUIRE(run.step(actor));                    // the message to itself
        CHECK(library->save() == alone.save());
        run.self->receive([&](const rl::block_action& got) {
            CHECK(got.radii == expected.radii);
            CHECK(got.noise_multiplier == expected.noise_multiplier);
        });
    }
}

TEST_CASE("a checkpoint brings everything back bit for bit, and a foreign file is refused") {
    scratch_directory scratch;
    const auto model = tiny_model();
    rl::training_config config{};
    config.steps = 10;
    config.rate = {.peak = 0.1};
    config.interval = 2;
    config.initial_noise_multiplier = 1;
    rl::training training(config, small_method(model), model.initial_adapter);
    auto value = blank_release();
    value.gradient = at::randn({model.layout.dimension});
    value.statistics.assign(3 * model.layout.pairs.size() + 5, 0.25);
    training.apply(value);
    const std::string controller("\0\x01\xff bytes", 9);
    checkpoint written;
    written.training = training.snapshot();
    written.controller = controller;
    written.charged.seq = 3;
    written.charged.hash = "abc";
    written.belongs_to = "run";
    const privacy::file_seal seal(privacy::run_key::insecure_from_seed(1));
    write_checkpoint(scratch / "c.safetensors", written, seal);
    CHECK_FALSE(read_checkpoint(scratch / "c.safetensors", seal).evaluating);
    written.evaluating = {7, at::randn({model.layout.dimension})};
    write_checkpoint(scratch / "c.safetensors", written, seal);

    const auto back = read_checkpoint(scratch / "c.safetensors", seal);
    CHECK(back.controller == controller);
    CHECK(back.belongs_to == "run");
    REQUIRE(back.evaluating);
    CHECK(back.evaluating->step == 7);
    CHECK(at::equal(back.evaluating->adapter, written.evaluating->adapter));
    CHECK(back.charged.seq == 3);
    CHECK(back.charged.hash == "abc");
    rl::training other(config, small_method(model), model.initial_adapter);
    other.restore(back.training);
    CHECK(other.step() == 1);
    CHECK(at::equal(other.adapter(), training.adapter()));
    training.apply(value);
    other.apply(value);
    CHECK(at::equal(other.adapter(), training.adapter()));
    CHECK(other.radii() == training.radii());

    // As earlier versions wrote it, which knew adamw alone.
    auto earlier = read_sealed(scratch / "c.safetensors", "checkpoint", seal);
    for (const std::string name : {"first_moment", "second_moment"}) {
        earlier.tensors[name] = earlier.tensors.at("optimizer." + name);
        earlier.tensors.erase("optimizer." + name);
    }
    earlier.texts.erase("optimizer");
    earlier.texts["optimizer_steps"] = "1";
    earlier.texts["optimizer_noise"] = "0";
    write_sealed(scratch / "earlier.safetensors", "checkpoint", earlier, seal);
    rl::training third(config, small_method(model), model.initial_adapter);
    third.restore(read_checkpoint(scratch / "earlier.safetensors", seal).training);
    third.apply(value);
    CHECK(at::equal(third.adapter(), training.adapter()));

    models::save_safetensors(scratch / "foreign.safetensors", {{"adapter", at::zeros({3})}});
    CHECK_THROWS_AS(read_checkpoint(scratch / "foreign.safetensors", seal), rldp::error);
    const privacy::file_seal another(privacy::run_key::insecure_from_seed(2));
    CHECK_THROWS_AS(read_checkpoint(scratch / "c.safetensors", another), rldp::error);
}

TEST_CASE("no flipped bit of a checkpoint is taken over") {
    scratch_directory scratch;
    const auto path = scratch / "c.safetensors";
    const privacy::file_seal seal(privacy::run_key::insecure_from_seed(1));
    checkpoint written;
    written.training.optimizer = {.parameters = at::ones({3}), .tensors = {{"second_moment", at::ones({3})}}};
    written.training.rest = "{\"step\": 1}";
    written.training.method = {.numbers = "{}", .tensors = {{"mean", at::ones({2}, at::kDouble)}}};
    written.controller = "controller";
    written.belongs_to = "run";
    write_checkpoint(path, written, seal);
    CHECK(read_checkpoint(path, seal).controller == "controller");
    const auto whole = read_file(path);
    std::size_t refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
        auto flipped = whole;
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
        write_file(path, flipped);
        try {
            const auto back = read_checkpoint(path, seal);
            // A change of spaces or of the order of the header's keys alone means the same.
            CHECK(at::equal(back.training.optimizer.parameters, written.training.optimizer.parameters));
            CHECK(back.training.rest == written.training.rest);
            CHECK(flipped[at] != whole[at]);
        } catch (const error& e) {
            ++refused;
            CHECK(std::string(e.what()).find(path.string()) != std::string::npos);
        }
    }
    CHECK(refused + 8 > whole.size());  // the header's padding is no content
}

TEST_CASE("a sent adapter stays as it was while training goes on") {
    const auto model = tiny_model();
    rl::training_config config{};
    config.steps = 2;
    config.rate = {.peak = 0.1};
    rl::training training(config, small_method(model), model.initial_adapter);
    const auto sent = training.adapter();
    const auto copy = sent.clone();
    auto value = blank_release();
    value.gradient = at::ones({model.layout.dimension});
    training.apply(value);
    CHECK(at::equal(sent, copy));
    CHECK_FALSE(at::equal(sent, training.adapter()));
}
