#include "config/open_keys.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "config/config.hpp"
#include "config/methods.hpp"
#include "tests/catch.hpp"
#include "tests/config/parsed.hpp"

using namespace rldp;
using config::choose_open_keys;
using config::read_batch_size;

namespace {

const config::choice* of(const std::vector<config::choice>& all, const std::string& key) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.key == key; });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("a configuration of data, model and ε alone gets a whole plan, each choice with its reason") {
    auto c = parsed(R"({"rl": {"state": "published"}})");
    const auto made = choose_open_keys(c, 73271, {.width = 64});
    CHECK(read_batch_size(c) == 2048);  // 107 steps; 4096 would leave 53
    CHECK(config::planned_steps(c, 73271) == 107);
    CHECK(c.train.lr == 0.01);
    CHECK(c.train.warmup == 5);
    CHECK(c.train.schedule == rate_shape::linear);
    CHECK(c.train.value_weight == 1);  // of text
    CHECK(c.train.eval_every == 5);
    CHECK(c.rl.interval == 9);  // 12 blocks, the last of 8; intervals of 8 would leave 3 in the last
    CHECK(c.rl.warmup == 9);
    CHECK(c.train.eval_records == 16384);  // a tenth of the time of 107/3 steps of 2048 units would be 21,504
    auto raw = parsed(R"({"rl": {"state": "published"}, "eval": {"publish": "raw"}})");
    choose_open_keys(raw, 73271, {.width = 64});
    CHECK(raw.train.eval_records == 3072);  // of 5 steps
    REQUIRE(made.size() == 9);
    for (const auto& one : made) CHECK_FALSE(one.reason.empty());
    CHECK(of(made, "train.schedule")->value == "\"linear\"");
    CHECK(of(made, "train.expected_batch_size")->value == "2048");
    CHECK(choose_open_keys(c, 73271, {.width = 64}).empty());  // nothing is open any more
    CHECK(config::parse(config::to_json(c), "again", "/").train.lr == 0.01);
}

TEST_CASE("no rate is chosen that would not be used") {
    for (const auto* name : {"dog", "prodigy", "mechanic"}) {
        auto c = parsed(R"({"rl": {"interval": 8}})", {std::string("train.optimizer=") + name});
        const auto state = config::choose_state(c, std::nullopt);
        REQUIRE(state);
        CHECK(state->value == "\"schedule\"");
        CHECK(has(state->reason, name));
        const auto made = choose_open_keys(c, 73271, {.width = 64});
        CHECK_FALSE(of(made, "train.lr"));
        CHECK_FALSE(of(made, "public.lr"));
        CHECK_FALSE(c.train.lr);
        CHECK(of(made, "train.schedule"));
    }
    auto warm = parsed(R"({"train": {"optimizer": "dog"}, "public": {"path": "synthetic:9"}})");
    CHECK(of(choose_open_keys(warm, 73271, {.width = 64}), "public.lr"));
    auto moved = parsed(R"({"train": {"optimizer": "hypergradient"}})");
    CHECK(of(choose_open_keys(moved, 73271, {.width = 64}), "train.lr"));
}

TEST_CASE("what is given stays, and what follows from it follows") {
    auto c = parsed(R"({"train": {"steps": 300, "lr": 0.003, "schedule": "constant"}, "rl": {"interval": 30},
                        "data": {"template": "t.json"}})");
    const auto made = choose_open_keys(c, 73271, {.width = 768});
    CHECK(read_batch_size(c) == 512);  // of the 732 units that a step of three epochs has
    CHECK(c.train.lr == 0.003);
    CHECK(c.train.schedule == rate_shape::constant);
    CHECK(c.train.warmup == 15);
    CHECK(c.train.value_weight == 1);
    CHECK(c.rl.warmup == 30);
    for (const auto* given : {"train.steps", "train.lr", "train.schedule", "rl.interval"}) CHECK_FALSE(of(made, given));
}

TEST_CASE(
    "wider models and longer plans get a lower rate, adapters on q and v and noise in bands a higher one, hyfreedp a "
    "constant one, the published semantics what was published") {
    const auto rate_of = [](const config::adapted_model& model, const std::vector<std::string>& set = {}) {
        auto c = parsed(R"({"method": {"name": "static"}, "train": {"steps": 120}})", set);
        choose_open_keys(c, 10000, model);
        return *c.train.lr;
    };
    const auto rate = [&](std::int64_t width, const std::vector<std::string>& set = {}) {
        return rate_of({.width = width}, set);
    };
    CHECK(rate(32) == 0.0099);
    CHECK(rate(64) == 0.0099);
    CHECK(rate(256) == 0.0049);
    CHECK(rate(576) == 0.0033);
    CHECK(rate(4096) == 0.00046);
    CHECK(rate(64, {"train.steps=60"}) == 0.014);
    CHECK(rate(64, {"train.steps=240"}) == 0.007);
    CHECK(rate(64, {"train.steps=4"}) == rate(64, {"train.steps=16"}));
    CHECK(rate(64, {R"(lora.targets=["all-linear"])"}) == 0.0099);
    CHECK(rate_of({.width = 64, .queries_and_values = true}) == 0.02);
    CHECK(rate(64, {"noise.bands=4"}) == 0.02);
    CHECK(rate(64, {"train.schedule=constant"}) == 0.005);
    CHECK(rate_of({.width = 64, .queries_and_values = true}, {"train.schedule=constant"}) == 0.01);
    auto warm = parsed(R"({"data": {"template": "t.json"}, "public": {"path": "synthetic:9"}})");
    choose_open_keys(warm, 10000, {.width = 64});
    CHECK((warm.train.lr == 0.01 && warm.train.value_weight == 3));
    auto free = parsed(R"({"method": {"name": "hyfreedp"}})");
    choose_open_keys(free, 10000, {.width = 64});
    CHECK(free.train.schedule == rate_shape::constant);
    auto published = parsed(R"({"privacy": {"semantics": "as_published", "acknowledge_no_guarantee": true}})");
    choose_open_keys(published, 73271, {.width = 768});
    CHECK(read_batch_size(published) == 16);
    CHECK(published.train.lr == 5e-4);
    CHECK(published.train.schedule == rate_shape::constant);
    CHECK(published.rl.interval == 112);
}

TEST_CASE(
    "whatever the population, the batch is a power of two within it and leaves steps where there is work enough") {
    std::mt19937_64 random(5);
    for (int i = 0; i < 500; ++i) {
        const auto population = static_cast<std::int64_t>(std::exp(std::uniform_real_distribution(0.0, 20.0)(random)));
        auto c = parsed(R"({"rl": {"state": "published"}})");
        choose_open_keys(c, population, {.width = 64});
        const auto batch = read_batch_size(c);
        CAPTURE(population, batch);
        CHECK(batch <= population);
        const auto steps = config::planned_steps(c, population);
        CHECK(steps >= 1);
        if (batch > 16) {
            CHECK((batch & (batch - 1)) == 0);
            CHECK(steps >= config::least_steps);
            CHECK(batch <= config::most_batch);
            if (batch < config::most_batch)
                CHECK(3 * population / (2 * batch) < config::least_steps);  // the next would leave too few
        }
        CHECK(*c.train.warmup < std::max<std::int64_t>(steps, 2));
        CHECK((*c.rl.interval >= 1 && *c.rl.interval <= std::max<std::int64_t>(1, steps / 9)));
    }
}

TEST_CASE("a run of one step has no warm-up, and a reason never says what is not so") {
    auto one = parsed(R"({"train": {"steps": 1}, "rl": {"state": "published"}})");
    choose_open_keys(one, 10000, {.width = 64});
    CHECK(one.train.warmup == 0);
    CHECK_NOTHROW(config::validate(one));
    const auto reason = [](const char* text, std::int64_t population) {
        auto c = parsed(text);
        return of(choose_open_keys(c, population, {.width = 64}), "train.expected_batch_size")->reason;
    };
    CHECK(reason(R"({"train": {"steps": 300}})", 1000).find("though 300 steps of it are more") != std::string::npos);
    CHECK(reason(R"({"train": {"steps": 30}})", 1000).find("rounded down") != std::string::npos);
    CHECK(reason("{}", 300).find("leaves fewer than 75 steps") != std::string::npos);
    CHECK(reason("{}", 1000).find("largest power of two") != std::string::npos);
}

TEST_CASE("under a prepared policy nothing of its schedule is chosen, and it decides from its first block on") {
    auto c =
        parsed(R"({"rl": {"state": "prepared", "controller": "p", "interval": 8}, "noise": {"allocation": "shares"}})");
    const auto made = choose_open_keys(c, 73271, {.width = 64});
    CHECK(c.rl.warmup == 7);
    CHECK_FALSE(of(made, "train.warmup"));
    CHECK_FALSE(of(made, "train.schedule"));
    CHECK(c.train.lr == 0.01);
    // Its schedule is a factor of the rate that a run has without it.
    for (const std::string steps : {"60", "240"}) {
        auto steered = parsed(R"({"rl": {"state": "prepared", "controller": "p"}})", {"train.steps=" + steps}),
             alone = parsed(R"({"rl": {"state": "schedule"}})", {"train.steps=" + steps});
        for (auto* one : {&steered, &alone}) choose_open_keys(*one, 73271, {.width = 64});
        CHECK(steered.train.lr == alone.train.lr);
        CHECK(steered.train.lr == (steps == "60" ? 0.014 : 0.007));
    }
}

TEST_CASE("an open key that a run needs is named") {
    CHECK(refusal([] { read_batch_size(parsed("{}")); }).find("train.expected_batch_size is open") == 0);
}

TEST_CASE(
    "the policy that ships steers where nothing is asked that it has no use for, and where it has seen such runs") {
    const std::string elsewhere = "it has not seen such runs";
    const auto state = [](const std::string& text, const std::optional<std::string>& doubt = {}) {
        auto config = parsed(text);
        const bool given = config.rl.state.has_value();
        const auto made = config::choose_state(config, doubt);
        CHECK(made.has_value() == (!given && config.rl.state));
        if (doubt && config.rl.state == controller_kind::schedule)
            CHECK(made->reason.find(*doubt) != std::string::npos);
        CHECK(config::resolve_choices(config).prepared == (config.rl.state == controller_kind::prepared));
        CHECK(config::find_method(config).steered() ==
              (config.rl.state != controller_kind::schedule && config.method.name == "rldp"));
        config::validate(config);
        return config.rl.state ? name_of(*config.rl.state) : std::string("nobody");
    };
    CHECK(state("{}") == "prepared");
    CHECK(state("{}", elsewhere) == "schedule");
    CHECK(state(R"({"rl": {"controller": "mine"}})", elsewhere) == "prepared");
    CHECK(state(R"({"noise": {"policy": "fixed"}})", elsewhere) == "schedule");
    CHECK(state(R"({"noise": {"policy": "fixed", "allocation": "shares"}})") == "prepared");
    for (const std::string given :
         {R"({"train": {"schedule": "linear"}})", R"({"train": {"warmup": 0}})", R"({"train": {"average": "ema"}})",
          R"({"train": {"final_lr": 1e-4}})", R"({"train": {"schedule": "linear"}, "noise": {"bands": 2}})",
          R"({"noise": {"allocation": "uniform"}})", R"({"noise": {"statistics_share": 0}})",
          R"({"rl": {"state": "schedule"}})"}) {
        INFO(given);
        CHECK(state(given) == "schedule");
    }
    for (const std::string given :
         {R"({"noise": {"policy": "deck"}})", R"({"noise": {"deck": {"levels": 4}}})", R"({"rl": {"interval": 4}})",
          R"({"rl": {"warmup": 4}})", R"({"rl": {"actions": ["radii"]}})", R"({"rl": {"gamma": 0.5}})",
          R"({"rl": {"radius_scale": 1}})", R"({"rl": {"rescale": false}})"}) {
        INFO(given);
        CHECK(state(given) == "published");
    }
    for (const std::string given : {R"({"noise": {"statistics_share": 0.1}})", R"({"rl": {"policy": "random"}})",
                                    R"({"public": {"path": "p", "use": ["radii"]}})"}) {
        INFO(given);
        CHECK(state(given, elsewhere) == "published");
    }
    CHECK(state(R"({"method": {"name": "static"}})") == "nobody");
    CHECK(state(R"({"privacy": {"semantics": "as_published", "acknowledge_no_guarantee": true}})") == "nobody");
    auto asked = parsed(R"({"rl": {"state": "published"}})");
    CHECK_FALSE(config::choose_state(asked, {}));
    CHECK(asked.rl.state == controller_kind::published);
}
