// The evaluator, one message at a time: what of held-out units goes out, and what stays.
#include <ATen/ATen.h>

#include <caf/all.hpp>
#include <nlohmann/json.hpp>

#include "actors/evaluator.hpp"
#include "base/files.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/actors/quiet_hub.hpp"
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

using evaluations_heard = std::vector<std::pair<std::int64_t, eval::scores>>;

hub_actor hub_that_hears(deterministic& run, evaluations_heard& heard) {
    return run.spawn([&heard](hub_actor::pointer) {
        return make_quiet_hub(
            {.evaluated = [&heard](std::int64_t step, const eval::scores& found) { heard.emplace_back(step, found); }});
    });
}

/// Records of `count` units, one each; of every other unit there are two.
eval::held_out some_records(int count) {
    eval::held_out out;
    out.bytes = 1000;
    for (int u = 0; const auto& unit : tiny_units(count)) {
        out.first.push_back(out.sequences.size());
        out.sequences.push_back(unit.records.front());
        if (u++ % 2 == 1) out.sequences.push_back(unit.records.front());
    }
    out.first.push_back(out.sequences.size());
    return out;
}

struct evaluated : deterministic {
    evaluated(eval::held_out given, publication publish, double noise_multiplier = 1e-9)
        : ledger(publish == publication::noised ? looked_at(4, noise_multiplier) : looked_at(1, 1)),
          records(std::make_shared<eval::held_out>(std::move(given))),
          hub(hub_that_hears(*this, heard)),
          actor(again(publish)) {}

    evaluator_actor again(publication publish) {
        evaluation_rule how{.model = model,
                            .publish = publish,
                            .looks = {.reach = 30, .evenly = 5},
                            .batch = 4,
                            .looks_log = scratch / "looks",
                            .owners_file = scratch / "held_out.json",
                            .trace = scratch / "look_trace.json",
                            .looked = logged()};
        how.looks.hits = records->target && records->target->declared;
        return spawn(make_evaluator, trusted<std::shared_ptr<const eval::held_out>>(records),
                     trusted<std::shared_ptr<const secrets>>(tiny_secrets(4)), how, hub, log.logger, stop.get_token());
    }
    std::vector<privacy::look_release> logged() const {
        return looks_log::read(scratch / "looks", privacy::file_seal(tiny_secrets(4)->key), ledger);
    }
    eval::scores exact(const at::Tensor& adapter) const {
        return eval::score_held_out(*model.base, &model.layout, &adapter, records->sequences, {.batch = 4});
    }
    nlohmann::json owners() const { return nlohmann::json::parse(read_file(scratch / "held_out.json")); }

    scratch_directory scratch;
    captured_log log;
    std::stop_source stop;
    run_model model = tiny_model();
    privacy::ledger_content ledger;
    std::shared_ptr<const eval::held_out> records;
    evaluations_heard heard;
    hub_actor hub;
    evaluator_actor actor;
};

at::Tensor changed(const run_model& model) {
    at::manual_seed(3);
    return at::randn_like(model.initial_adapter) * 0.5;
}

}  // namespace

TEST_CASE("where exact figures are published, the hub hears them and the owner has them") {
    evaluated run(some_records(9), publication::raw);
    const auto other = changed(run.model);
    run.self->send(run.actor, evaluate_atom::value, snapshot{0, run.model.initial_adapter});
    run.self->send(run.actor, evaluate_atom::value, snapshot{7, other});
    const auto all = run.ask<evaluations>(run.actor, settle_atom::value, snapshot{7, other});
    REQUIRE(run.heard.size() == 2);
    CHECK(run.heard[0].second.perplexity == Approx(run.exact(run.model.initial_adapter).perplexity));
    CHECK(run.heard[1].second.perplexity == Approx(run.exact(other).perplexity));
    CHECK_FALSE(run.heard[1].second.perplexity_in);
    REQUIRE(all);
    CHECK(all->before->perplexity == run.heard[0].second.perplexity);
    CHECK(all->last->bits_per_byte == run.records->bits_per_byte(all->last->perplexity));
    CHECK(all->best->perplexity == std::min(run.heard[0].second.perplexity, run.heard[1].second.perplexity));
    CHECK_FALSE(all->predicted);
    CHECK(run.owners().at("evaluations").size() == 2);
}

TEST_CASE("where nothing is published, the owner alone hears of held-out units") {
    evaluated run(some_records(9), publication::none);
    CHECK(run.ask<std::int64_t>(run.actor, evaluate_atom::value, snapshot{7, run.model.initial_adapter}) == 7);
    const auto all = run.ask<evaluations>(run.actor, settle_atom::value, snapshot{7, run.model.initial_adapter});
    REQUIRE(all);
    CHECK_FALSE(all->last);
    CHECK(run.heard.empty());
    CHECK(run.owners().at("evaluations").at(0).at("perplexity") ==
          Approx(run.exact(run.model.initial_adapter).perplexity));
    evaluated nobody({}, publication::none);
    CHECK(nobody.ask<std::int64_t>(nobody.actor, evaluate_atom::value, snapshot{7, nobody.model.initial_adapter}) == 7);
}

TEST_CASE("a look releases the mean over units, logs it before the hub hears, and is gone on from") {
    evaluated run(some_records(9), publication::noised);
    const auto other = changed(run.model);
    REQUIRE(run.ask<std::int64_t>(run.actor, look_atom::value, run.ledger.looks[0], snapshot{0, other}) == 0);
    double mean = 0;  // every unit weighs the same, whatever its records
    for (std::size_t u = 0; u < 9; ++u) {
        const auto alone = std::vector<models::sequence>{run.records->sequences[run.records->first[u]]};
        mean += std::log(eval::score_held_out(*run.model.base, &run.model.layout, &other, alone, {}).perplexity) / 9;
    }
    REQUIRE(run.heard.size() == 1);
    CHECK(std::log(run.heard[0].second.perplexity) == Approx(mean).epsilon(1e-5));
    REQUIRE(run.heard[0].second.perplexity_in);
    CHECK(run.heard[0].second.perplexity_in->low <= run.heard[0].second.perplexity);
    const auto logged = run.logged();
    REQUIRE(logged.size() == 1);
    CHECK(logged[0].frame.nats.centre == 2.5);
    CHECK(run.owners().at("evaluations").at(0).at("units") == 9);
    CHECK(run.owners().at("evaluations").at(0).at("perplexity") == Approx(run.exact(other).perplexity));

    // The next one, of another process, expects less than this one found.
    const auto resumed = run.again(publication::noised);
    REQUIRE(run.ask<std::int64_t>(resumed, look_atom::value, run.ledger.looks[1], snapshot{1, other}));
    const auto both = run.logged();
    REQUIRE(both.size() == 2);
    CHECK(both[1].frame.nats.centre == Approx(mean / 2).epsilon(1e-5));
}

TEST_CASE("a record that can't be computed counts as zero in a look, and ends nothing where figures are the owner's") {
    auto records = some_records(9);
    records.sequences[records.first[4]] = {3, 1000, 2};  // no such token: the model throws
    evaluated run(records, publication::noised);
    const auto adapter = changed(run.model);
    REQUIRE(run.ask<std::int64_t>(run.actor, look_atom::value, run.ledger.looks[0], snapshot{0, adapter}) == 0);
    REQUIRE(run.heard.size() == 1);
    CHECK(std::isfinite(run.heard[0].second.perplexity));
    CHECK(run.owners().at("evaluations").at(0).at("units") == 8);

    eval::held_out nothing;  // answers are to be predicted, and there are none
    nothing.answers_only = true;
    nothing.sequences = {{1, 2, 3}};
    nothing.first = {0, 1};
    for (const auto& odd : {records, nothing}) {
        evaluated own(odd, publication::none);
        CHECK(own.ask<std::int64_t>(own.actor, evaluate_atom::value, snapshot{7, adapter}) == 7);
        CHECK(own.ask<evaluations>(own.actor, settle_atom::value, snapshot{7, adapter}));
        CHECK(own.log.text.str().find("no exact figures") != std::string::npos);
        evaluated loud(odd, publication::raw);
        CHECK_FALSE(loud.ask<std::int64_t>(loud.actor, evaluate_atom::value, snapshot{7, adapter}));
    }
}

TEST_CASE("a unit's part in a look is the same bits in any company") {
    const auto sum = [](const eval::held_out& records, int lanes) {
        const auto model = tiny_model();
        const auto adapter = changed(model);
        return eval::look_at(*model.base, &model.layout, &adapter, records, {.batch = 4, .lanes = lanes}).units;
    };
    const auto some = some_records(9), all = some_records(40);
    const auto few = sum(some, 1), many = sum(all, 3);
    REQUIRE(few.size() == 9);
    REQUIRE(many.size() == 40);
    for (std::size_t u = 0; u < few.size(); ++u) CHECK(few[u].nats == many[u].nats);
}

TEST_CASE("of declared classes a look tells the share that is guessed right, of collected ones the owner's file") {
    auto records = some_records(12);
    records.target = eval::choices{.column = "column", .declared = true, .clauses = {"no", "yes"}};
    for (std::size_t r = 0; r < records.sequences.size(); ++r) {
        auto other = records.sequences[r];
        other.back() = (other.back() + 7) % 17;
        records.target->records.push_back(r);
        records.target->truth.push_back(r % 2);
        records.target->alternatives.push_back({records.sequences[r], other});
    }
    for (const bool declared : {true, false}) {
        records.target->declared = declared;
        evaluated run(records, publication::noised);
        const auto adapter = changed(run.model);
        REQUIRE(run.ask<std::int64_t>(run.actor, look_atom::value, run.ledger.looks[0], snapshot{0, adapter}) == 0);
        CHECK(run.heard.at(0).second.accuracy.has_value() == declared);
        const auto all = run.ask<evaluations>(run.actor, settle_atom::value, snapshot{3, adapter});
        REQUIRE(all);
        CHECK_FALSE(all->predicted);
        CHECK_FALSE(all->floors.marginal_nats);
        CHECK(run.owners().at("target").at("column") == "column");
        if (!declared) continue;
        double right = 0;
        const auto found = eval::look_at(*run.model.base, &run.model.layout, &adapter, *run.records, {});
        for (const auto& unit : found.units) right += *unit.hits / 12;
        CHECK(*run.heard[0].second.accuracy == Approx(right).margin(1e-6));
    }
}

TEST_CASE("predictions are of the adapter that the run ended with, evaluated here or before a resume") {
    auto records = some_records(12);
    eval::choices among{.column = "column", .clauses = {"no", "yes"}};
    for (std::size_t r = 0; r < records.sequences.size(); ++r) {
        auto other = records.sequences[r];
        other.back() = (other.back() + 7) % 17;
        among.records.push_back(r);
        among.truth.push_back(r % 2);
        among.alternatives.push_back({records.sequences[r], other});
    }
    records.target = among;
    evaluated run(records, publication::raw);
    const auto end = changed(run.model);
    const auto expected = [&](const at::Tensor& adapter) {
        return eval::predict(*run.model.base, &run.model.layout, &adapter, among, {.batch = 4})->auc;
    };
    REQUIRE(expected(end) != expected(run.model.initial_adapter));
    const auto all = run.ask<evaluations>(run.actor, settle_atom::value, snapshot{9, end});
    REQUIRE(all);
    CHECK(all->predicted->before.auc == expected(run.model.initial_adapter));
    CHECK(all->predicted->after.auc == expected(end));
    const auto none = run.ask<evaluations>(run.again(publication::raw), settle_atom::value, snapshot{4, {}});
    REQUIRE(none);
    CHECK_FALSE(none->predicted);
}

TEST_CASE("an exact evaluation that nobody waits for any more tells nothing, and a look, which is paid for, goes on") {
    evaluated run(some_records(9), publication::raw);
    run.self->send(run.actor, evaluate_atom::value, snapshot{0, run.model.initial_adapter});
    const auto whole = run.ask<evaluations>(run.actor, settle_atom::value, snapshot{});
    REQUIRE(whole);
    CHECK_FALSE(whole->stopped);
    CHECK(run.heard.size() == 1);
    run.stop.request_stop();
    CHECK(run.ask<std::int64_t>(run.actor, evaluate_atom::value, snapshot{7, run.model.initial_adapter}) == 7);
    const auto all = run.ask<evaluations>(run.actor, settle_atom::value, snapshot{7, run.model.initial_adapter});
    REQUIRE(all);
    CHECK(all->stopped);
    CHECK(run.heard.size() == 1);

    evaluated looking(some_records(9), publication::noised);
    looking.stop.request_stop();
    REQUIRE(looking.ask<std::int64_t>(looking.actor, look_atom::value, looking.ledger.looks[0],
                                      snapshot{0, looking.model.initial_adapter}) == 0);
    CHECK(looking.heard.size() == 1);
}
