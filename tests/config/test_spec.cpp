#include "config/spec.hpp"

#include <set>

#include "base/kinds.hpp"
#include "config/open_keys.hpp"
#include "tests/catch.hpp"
#include "tests/config/parsed.hpp"

using namespace rldp;

namespace {

/// Nothing is open.
config::run_config whole(const std::vector<std::string>& more = {}) {
    auto out = parsed(R"({"train": {"micro_batch": 4}, "eval": {"clip": 3}})", more);
    config::choose_state(out, "not in a test");
    config::choose_open_keys(out, 6400, {.width = 64});
    return out;
}

template <class Value>
void check_names() {
    const auto all = all_names<Value>();
    CHECK(std::set<std::string>(all.begin(), all.end()).size() == all.size());
    for (const auto& row : names<Value>::rows) CHECK(parse_named<Value>(name_of(row.value)) == row.value);
    const auto said = refusal([] { parse_named<Value>("nonsense"); });
    CHECK(has(said, std::string(names<Value>::what) + " \"nonsense\" is unknown"));
    for (const auto& name : all) CHECK(has(said, name));
}

}  // namespace

TEST_CASE("every value of an enumeration has a word of its own, and no other word is one") {
    check_names<precision>();
    check_names<split_kind>();
    check_names<kept_end>();
    check_names<public_use>();
    check_names<clip_grouping>();
    check_names<allocation>();
    check_names<policy_kind>();
    check_names<rate_shape>();
    check_names<averaging>();
    check_names<optimizer_kind>();
    check_names<controller_kind>();
    check_names<controller_action>();
    check_names<controller_mode>();
    check_names<clip_action>();
    check_names<semantics>();
    check_names<publication>();
    check_names<accountant_kind>();
}

TEST_CASE("a specification has what the configuration says, what was chosen, and what follows from the method") {
    const auto config =
        whole({"privacy.epsilon=3", "train.steps=50", "method.name=\"dcsgd_p\"", "model.dtype=bfloat16"});
    const auto spec = config::to_spec(config, 6400);
    CHECK(spec.privacy.epsilon_budget == 3);
    CHECK(spec.privacy.population == 6400);
    CHECK(spec.privacy.policy == policy_kind::fixed);
    CHECK(spec.train.steps == 50);
    CHECK(spec.train.expected_batch_size == config.train.expected_batch_size);
    CHECK(spec.train.lr == config.train.lr);
    CHECK(spec.train.public_lr == config.train.lr);
    CHECK(spec.train.look_clip == 3);
    CHECK(spec.model.dtype == precision::bfloat16);
    CHECK(spec.clip.groups == clip_grouping::flat);  // dcsgd_p clips the whole gradient
    CHECK(spec.method.quantile == 0.3);
    CHECK_FALSE(spec.method.steered());
    CHECK(config::to_json(spec.config) == config::to_json(config));
}

TEST_CASE("an optimizer that finds its rate is told none, and public records are learned at one that is chosen") {
    const auto config = whole({"train.optimizer=prodigy", "public.path=synthetic:9"});
    CHECK_FALSE(config.train.lr);
    CHECK(has(config::to_json(config), "\"lr\": null"));
    const auto spec = config::to_spec(config, 6400);
    CHECK(spec.train.optimizer == optimizer_kind::prodigy);
    CHECK(spec.train.lr == 1);
    CHECK(spec.train.public_lr == whole({"public.path=synthetic:9", "rl.state=schedule"}).train.lr);
    CHECK(config::to_spec(whole({"train.optimizer=dog", "public.path=synthetic:9", "public.lr=0.5"}), 6400)
              .train.public_lr == 0.5);
    auto open = config;
    open.public_data.lr.reset();
    CHECK(has(refusal([&] { config::to_spec(open, 6400); }), "public.lr is open"));
}

TEST_CASE("what is read does not depend on what is chosen, but for how many held-out units are kept") {
    const auto open = parsed(R"({"privacy": {"unit": {"group": "patient"}, "max_records_per_unit": 5}})");
    const auto reading = config::to_reading_spec(open);
    CHECK(reading.group == "patient");
    CHECK(reading.records_per_unit == 5);
    CHECK(reading.eval_records == config::most_chosen_looked_at);
    CHECK(reading.public_uses.empty());  // warm_start is the default of public records, and there are none
    CHECK_FALSE(reading.declared_population);
    CHECK(config::to_reading_spec(parsed(R"({"train": {"eval_records": 9}})")).eval_records == 9);
    CHECK(config::to_reading_spec(parsed("{}")).records_per_unit == 1);
}

TEST_CASE("a key that is still open is refused by its name, one after the other") {
    CHECK_NOTHROW(config::to_spec(whole(), 6400));
    const auto without = [](auto open) {
        auto config = whole({"noise.policy=deck"});
        open(config);
        return refusal([&] { config::to_spec(config, 6400); });
    };
    CHECK(has(without([](auto& c) { c.train.lr.reset(); }), "train.lr is open"));
    CHECK(has(without([](auto& c) { c.train.expected_batch_size.reset(); }), "train.expected_batch_size is open"));
    CHECK(has(without([](auto& c) { c.train.micro_batch.reset(); }), "train.micro_batch is open"));
    CHECK(has(without([](auto& c) { c.train.warmup.reset(); }), "train.warmup is open"));
    CHECK(has(without([](auto& c) { c.train.eval_every.reset(); }), "train.eval_every is open"));
    CHECK(has(without([](auto& c) { c.train.eval_records.reset(); }), "train.eval_records is open"));
    CHECK(has(without([](auto& c) { c.rl.interval.reset(); }), "rl.interval is open"));
    CHECK(has(without([](auto& c) { c.rl.warmup.reset(); }), "rl.warmup is open"));
    CHECK(has(without([](auto& c) { c.eval.clip.reset(); }), "eval.clip is open"));
}

TEST_CASE("a key that has no part in a run may stay open") {
    const auto prepared = whole({"rl.state=prepared"});
    CHECK_FALSE(prepared.train.warmup);
    CHECK(config::to_spec(prepared, 6400).controller.kind == controller_kind::prepared);
    auto unlooked = whole({"eval.publish=none"});
    unlooked.eval.clip.reset();
    CHECK(config::to_spec(unlooked, 6400).train.looks == 0);
    const auto published = whole({"privacy.semantics=as_published", "privacy.acknowledge_no_guarantee=true"});
    CHECK(config::to_spec(published, 6400).privacy.policy == policy_kind::published);
}

TEST_CASE("what an audit needs is found in a run's configuration of an earlier version, which leaves newer keys open") {
    const auto earlier = config::load("tests/fixtures/run-0.1.0/public/config.json", {});
    CHECK(has(refusal([&] { config::to_spec(earlier, 1000); }), "eval.clip is open"));
    CHECK(config::to_reading_spec(earlier).model.path == earlier.model.path);
    CHECK(config::to_clip_spec(earlier).max == earlier.clip.max);
    CHECK(config::read_micro_batch(earlier) > 0);
}
