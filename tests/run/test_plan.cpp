// What `rldp check` says of the presets, and what it refuses.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "config/config.hpp"
#include "config/open_keys.hpp"
#include "models/weights.hpp"
#include "privacy/spending/risk_statement.hpp"
#include "run/factories.hpp"
#include "run/first/proposals.hpp"
#include "run/memory.hpp"
#include "run/plan.hpp"
#include "run/resolve.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepared/made_up_policy.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;

TEST_CASE("every published preset passes check without its data or weights, within its budget") {
    const std::map<std::string, std::size_t> adapters = {
        {"gpt2", 24}, {"llama-3.2-1b", 32}, {"llama-3.2-3b", 56}, {"mistral-7b", 64}};
    std::size_t seen = 0;
    for (const auto& file : std::filesystem::directory_iterator("config")) {
        const auto name = file.path().stem().string();
        if (!name.starts_with("published-")) continue;
        INFO(name);
        const auto config = config::load(file.path(), {});
        CHECK(has(refusal([&] { actors::check(config); }), "--without-data"));
        const auto plan = actors::check(config, {.without_data = true});
        CHECK(plan.steps == 13738);  // floor(3·73,271/16)
        CHECK(plan.epsilon_guaranteed <= config.privacy.epsilon);
        CHECK(plan.epsilon_guaranteed > config.privacy.epsilon - 1e-3);
        const auto model = std::find_if(adapters.begin(), adapters.end(), [&](const auto& known) {
            return name.starts_with("published-" + known.first + "-");
        });
        REQUIRE(model != adapters.end());
        CHECK(plan.groups.size() == model->second);
        ++seen;
    }
    CHECK(seen == 20);
}

TEST_CASE("check refuses in one line what can't be run") {
    const auto refusal = [](std::vector<std::string> set) -> std::string {
        try {
            actors::check(config::load("config/demo.json", set));
        } catch (const error& e) {
            CHECK(e.code() == errc::bad_input);
            CHECK(std::string(e.what()).find('\n') == std::string::npos);
            return e.what();
        }
        return "";
    };
    CHECK(refusal({"data.path=/nowhere/table.csv"}).find("/nowhere/table.csv") != std::string::npos);
    CHECK(refusal({"model.path=/nowhere"}).find("/nowhere: no such directory") != std::string::npos);
    CHECK(refusal({"train.expected_batch_size=100000"}).find("can't exceed 1") != std::string::npos);
    CHECK(refusal({"privacy.delta=1"}).find("privacy.delta") != std::string::npos);
    CHECK(refusal({"data.max_tokens=100000"}).find("window") != std::string::npos);
    CHECK(refusal({R"(lora.targets=["nonsense"])"}).find("nonsense") != std::string::npos);
    CHECK(refusal({"data.path=synthetic:1", "eval.publish=raw"}).find("synthetic:1") != std::string::npos);
    CHECK(refusal({"train.final_lr=0.5"}).find("above train.lr 0.0") != std::string::npos);  // which was chosen
}

TEST_CASE("check tells of a prepared policy, and refuses one that is not for such runs") {
    const scratch_directory scratch;
    const auto checked = [&](const auto& change, const std::vector<std::string>& more = {}) {
        auto parts = made_up_parts();
        change(parts);
        rl::prepared_policy(std::move(parts)).save(scratch / "policy.safetensors");
        std::vector<std::string> set = {
            "data.path=synthetic:400", "train.expected_batch_size=8",
            "rl.state=prepared",       "rl.controller=" + (scratch / "policy.safetensors").string(),
            "train.warmup=null",       "noise.allocation=shares",
            "rl.policy=learned"};
        set.insert(set.end(), more.begin(), more.end());
        return actors::check(config::load("config/demo.json", set));
    };
    const auto as_it_is = [](rl::prepared_parts&) {};
    const auto plan = checked(as_it_is);
    REQUIRE_FALSE(plan.controller.empty());
    CHECK(has(plan.controller[0], "passed its gate"));
    const auto warned = checked([](auto& parts) { parts.figures = R"({"seen":{"blocks":[16,24]}})"; });  // of 15
    CHECK(std::any_of(warned.warnings.begin(), warned.warnings.end(),
                      [](const auto& line) { return has(line, "15 blocks of 8 steps"); }));
    CHECK(has(refusal([&] { checked(as_it_is, {"rl.interval=9"}); }), "give 8"));
    const std::vector<std::string> learning = {"rl.online=true", "public.path=synthetic:60"};
    CHECK(has(checked(as_it_is, learning).controller.back(), "goes on learning"));
    CHECK(has(refusal([&] { checked(as_it_is, {"rl.controller=/nowhere/policy"}); }), "/nowhere/policy"));
}

TEST_CASE("a policy brings its own schedule, and where nobody vouches for it a schedule of nobody's has its place") {
    const scratch_directory scratch;
    struct prepared {
        std::string doubt = {};  // none: it steers
        bool passed = true;
        std::string figures = R"({"tasks":"runs"})";
        std::vector<std::string> set = {};
        bool open = false;  // rl.state
    };
    for (const auto& one :
         {prepared{}, prepared{.open = true}, prepared{.doubt = "did not pass its gate", .passed = false},
          prepared{.doubt = "did not pass its gate", .passed = false, .open = true},
          prepared{.doubt = "no language models", .figures = "{}"},
          prepared{.doubt = "adapters, the policy was", .figures = R"({"tasks":"runs","seen":{"adapters":[1,2]}})"},
          prepared{.doubt = "train.parameters", .set = {"train.parameters=[\"norm\"]"}},
          prepared{.passed = false, .set = {"rl.policy=learned"}},
          prepared{.passed = false, .set = {"rl.policy=learned"}, .open = true},
          prepared{.passed = false, .set = {"rl.policy=frozen"}}}) {
        auto parts = made_up_parts();
        parts.passed = one.passed;
        parts.figures = one.figures;
        const auto file = (scratch / "policy").string();
        rl::prepared_policy(parts).save(file);
        std::vector<std::string> set = {"data.path=synthetic:400",
                                        "train.expected_batch_size=8",
                                        "train.lr=0.01",
                                        "rl.controller=" + file,
                                        "noise.allocation=shares",
                                        "rl.interval=null",
                                        "noise.statistics_share=null",
                                        "rl.warmup=null"};
        if (!one.open) set.emplace_back("rl.state=prepared");
        set.insert(set.end(), one.set.begin(), one.set.end());
        const auto config = config::load("config/demo.json", set);
        const auto plan = actors::check(config);
        const auto spec = actors::resolve(config, plan.population, models::read_model_config(config.model.path));
        INFO(one.doubt << one.figures << one.open);
        CHECK((spec.controller.kind == controller_kind::schedule) == !one.doubt.empty());
        CHECK((plan.policy != nullptr) == one.doubt.empty());
        CHECK_NOTHROW(config::validate(spec.config));
        if (!one.doubt.empty()) {
            CHECK(spec.choices.front().key == "rl.state");
            CHECK(has(spec.choices.front().reason, one.doubt));
            continue;
        }
        const auto known = actors::describe_plan(spec, plan);
        CHECK(known.steps == 120);
        CHECK(known.noise ==
              Approx(std::log(plan.noise_multiplier * std::sqrt(static_cast<double>(plan.trainable_parameters)) / 8)));
        CHECK(known.adapters == plan.groups.size());
        CHECK(known.bands == plan.bands);
        const bool frozen = spec.controller.mode == controller_mode::frozen;
        const auto wanted = (frozen ? parts.best_fixed : parts.fixed).settle(known);
        const auto rates = actors::make_rate_schedule(spec, plan);
        CHECK(rates.rate(plan.steps / 20 + 1) == Approx(0.01 * std::exp(wanted.log_rate) * (1 - wanted.tilt)));
        CHECK(actors::make_average_config(spec, plan).window == wanted.tail);

        // No warm-up is proposed, which such a run would refuse.
        for (const auto& proposed : actors::proposals(config, 20000, 20000)) CHECK_FALSE(proposed.warmup);
    }
}

TEST_CASE("a policy that is asked for in vain is named where a schedule can't have its place") {
    const auto said = refusal([] {
        actors::check(config::load("config/demo.json", {"data.path=synthetic:400", "rl.state=prepared",
                                                        "rl.interval=null", "rl.warmup=null", "rl.radius_scale=0.2"}));
    });
    CHECK(has(said, "did not pass its gate"));
    CHECK(has(said, "rl.policy \"learned\" takes it"));
    CHECK(has(said, "rl.radius_scale is a controller's"));
}

TEST_CASE("a bound on attackers lowers ε to what keeps it, and whoever resumes finds the same") {
    const auto settled = [](std::vector<std::string> set) {
        set.insert(set.end(),
                   {"privacy.population=20000", "method.name=static", "train.steps=40", "privacy.risk.fpr=0.01"});
        return actors::resolve(config::load("config/demo.json", set), 400,
                               models::read_model_config("config/tiny-gpt2"));
    };
    for (const std::string publish : {"raw", "private"}) {
        const auto found = settled({"privacy.risk.tpr=0.03", "eval.publish=" + publish});
        CHECK(found.privacy.epsilon_budget < 8);
        const auto policy = actors::make_spending_policy(found);
        const auto looks = actors::choose_looks(found, policy->epsilon_guaranteed());
        CHECK((looks.count > 0) == (publish == "private"));
        const double attacked =
            privacy::find_trade_off(policy->committed(), policy->epsilon_guaranteed(), found.privacy.delta, 0, looks)
                .true_positive_rate(0.01);
        CHECK(attacked <= 0.03);
        CHECK(attacked > 0.029);
        const auto& why = found.choices;
        CHECK(std::any_of(why.begin(), why.end(), [](const auto& one) {
            return one.key == "privacy.epsilon" && has(one.reason, "of 1,000 that were, at most");
        }));
        const auto again = actors::resolve(found.config, 400, models::read_model_config("config/tiny-gpt2"));
        CHECK(again.privacy.epsilon_budget == found.privacy.epsilon_budget);
    }
    CHECK(settled({"privacy.risk.tpr=0.99"}).privacy.epsilon_budget == 8);
    CHECK(has(refusal([&] { settled({}); }), "given together, or neither"));
    CHECK(has(refusal([&] { settled({"privacy.risk.tpr=0.01"}); }), "guessing alone"));
    CHECK(has(refusal([&] { settled({"privacy.risk.tpr=0.0100001"}); }), "is kept by no ε"));
}

TEST_CASE("a schedule has the runs for which nobody vouches, and the policy those that ask for it") {
    const auto planned = [](const std::string& steps, std::vector<std::string> set) {
        set.insert(set.end(),
                   {"rl.interval=null", "rl.warmup=null", "noise.statistics_share=null", "train.steps=" + steps});
        const auto chosen =
            actors::resolve(config::load("config/demo.json", set), 400, models::read_model_config("config/tiny-gpt2"));
        CHECK(chosen.choices.front().key == "rl.state");
        CHECK_NOTHROW(config::validate(chosen.config));
        CHECK(chosen.config.rl.state == chosen.controller.kind);
        return name_of(chosen.controller.kind) + " " + std::to_string(chosen.controller.interval);
    };
    CHECK(planned("55", {"seed=1"}) == "schedule 5");
    CHECK(planned("107", {"seed=1"}) == "schedule 9");
    CHECK(planned("80", {"train.schedule=linear"}) == "schedule 5");
    CHECK(planned("80", {"noise.bands=2"}) == "schedule 5");
    CHECK(planned("80", {"noise.policy=deck"}) == "published 5");
    CHECK(planned("108", {"rl.online=true", "public.path=synthetic:60"}) == "prepared 4");  // asked for
}

TEST_CASE("noise in bands is priced as rounds, chosen where it is open and pays, and refused where it can't be") {
    const auto model = models::read_model_config("config/tiny-gpt2");
    const auto resolved = [&](std::int64_t population, std::vector<std::string> set) {
        set.insert(set.end(), {"rl.interval=null", "rl.warmup=null", "train.warmup=null"});
        return actors::resolve(config::load("config/demo.json", set), population, model);
    };
    const auto reason = [](const config::run_spec& spec) {
        const auto found = std::find_if(spec.choices.begin(), spec.choices.end(),
                                        [](const auto& one) { return one.key == "noise.bands"; });
        return found == spec.choices.end() ? std::string("not chosen") : found->reason;
    };
    std::vector<std::string> small_batches = {"method.name=static", "train.expected_batch_size=64", "train.steps=100",
                                              "privacy.epsilon=2", "privacy.delta=1e-5"};
    const auto with = [&](const std::string& more) {
        auto set = small_batches;
        set.push_back(more);
        return resolved(73271, set);
    };
    const auto many = resolved(73271, small_batches);
    CHECK(many.privacy.bands == 4);
    CHECK(many.config.noise.bands == 4);
    CHECK(has(reason(many), "they take"));
    CHECK(has(reason(many), "of the noise that the model adds up"));
    const auto one = with("noise.bands=1");
    CHECK(reason(one) == "not chosen");
    CHECK(many.train.lr == Approx(2 * one.train.lr).epsilon(0.06));  // of two digits
    // Who steers changes neither bands nor the rate that a schedule is a factor of.
    for (const auto* state : {"rl.state=schedule", "rl.state=prepared"}) {
        small_batches[0] = state;
        const auto steered = with("method.name=rldp");
        CHECK(steered.privacy.bands == 4);
        CHECK(steered.train.lr == many.train.lr);
    }
    small_batches[0] = "method.name=static";
    const auto at_this_rate = with("train.lr=0.01");
    CHECK(at_this_rate.privacy.bands == 1);
    CHECK(has(reason(at_this_rate), "of 4: they take"));
    const auto default_plan = resolved(73271, {"method.name=static", "noise.statistics_share=0", "train.steps=null",
                                               "train.expected_batch_size=null", "privacy.epsilon=2"});
    CHECK(default_plan.privacy.bands == 1);
    CHECK(has(reason(default_plan), "one was as good"));
    const auto rounds = actors::make_spending_policy(many)->committed(),
               steps = actors::make_spending_policy(one)->committed();
    REQUIRE(rounds.size() == 1);
    CHECK(rounds[0].steps == 25);
    CHECK(rounds[0].sample_rate == Approx(4 * 64 / 73271.0));
    CHECK(steps[0].steps == 100);
    CHECK(rounds[0].noise_multiplier > steps[0].noise_multiplier);
    // A controller that deals cards.
    CHECK(has(reason(resolved(73271, {"train.steps=80", "noise.policy=deck"})), "not proven"));
    CHECK(has(refusal([&] { resolved(73271, {"noise.policy=deck", "noise.bands=2"}); }), "noise.bands is 2"));
    const auto layout = models::make_layout(model, {8, 16, 0, {"q", "v"}});
    const auto refused = [&](std::int64_t population, const std::string& bands) {
        auto asked = small_batches;
        asked.push_back("noise.bands=" + bands);
        return refusal([&] { actors::plan_run(resolved(population, asked), model, layout); });
    };
    CHECK(refused(73271, "8").empty());
    CHECK(has(refused(73271, "101"), "more than the 100 steps"));
    CHECK(has(refused(200, "4"), "above 1"));
    CHECK(has(refused(73271, "2000"), "noise.bands"));
}

TEST_CASE("a learning rate goes by the modules that are adapted, not by how they are named") {
    const auto model = models::read_model_config("config/tiny-gpt2");
    const auto rate = [&](const std::string& targets) {
        const auto asked = config::load("config/demo.json", {"method.name=static", "train.lr=null", "train.steps=60",
                                                             "noise.bands=1", "lora.targets=" + targets});
        return *actors::resolve(asked, 40'000, model).config.train.lr;
    };
    const auto all = rate("null");
    CHECK(rate(R"(["all-linear"])") == all);
    CHECK(rate(R"(["q"])") == all);  // of which nothing was measured
    CHECK(rate(R"(["q","k","v"])") == all);
    const auto two = rate(R"(["q","v"])");
    CHECK(two == Approx(2 * all).epsilon(0.06));
    for (const char* same :
         {R"(["v","q"])", R"(["q_proj","v_proj"])", R"(["v","attn.q_proj","q"])", R"([".*attn\\.[qv]_proj"])"}) {
        CAPTURE(same);
        CHECK(rate(same) == two);
    }
    CHECK(has(refusal([&] { rate(R"(["w"])"); }), "lora.targets"));
}

TEST_CASE("a controller that never decides is warned of") {
    const auto warned = [](const char* steps) {
        const auto plan = actors::check(config::load(
            "config/demo.json", {"data.path=synthetic:400", "train.expected_batch_size=8", "train.warmup=1",
                                 "rl.interval=8", "rl.warmup=8", std::string("train.steps=") + steps}));
        return std::any_of(plan.warnings.begin(), plan.warnings.end(),
                           [](const auto& line) { return has(line, "after step 16"); });
    };
    CHECK(warned("16"));
    CHECK_FALSE(warned("17"));
}

TEST_CASE("a δ of 1/N or more is refused, or warned of where it is accepted") {
    const auto checked = [](std::vector<std::string> more) {
        more.insert(more.end(), {"data.path=synthetic:400", "train.expected_batch_size=8", "privacy.population=200"});
        return actors::check(config::load("config/demo.json", more));
    };
    const auto line = refusal([&] { checked({"privacy.delta=0.005"}); });
    CHECK(has(line, "privacy.delta is 0.005, not below 1/N = 0.005"));
    CHECK(has(line, "privacy.accept_large_delta"));
    const auto plan = checked({"privacy.delta=0.005", "privacy.accept_large_delta=true"});
    CHECK(std::any_of(plan.warnings.begin(), plan.warnings.end(),
                      [](const auto& said) { return said.starts_with("privacy.delta is 0.005"); }));
    CHECK_NOTHROW(checked({"privacy.delta=0.0049"}));
    // Without a guarantee there is none to weaken.
    CHECK_NOTHROW(checked({"privacy.delta=0.5", "privacy.semantics=as_published",
                           "privacy.acknowledge_no_guarantee=true", "privacy.accountant=gdp_clt"}));
}

TEST_CASE("check, and no run, warns where most records are cut") {
    const auto warned = [](const char* tokens) {
        const auto plan = actors::check(
            config::load("config/demo.json", {"data.path=synthetic:200", std::string("data.max_tokens=") + tokens,
                                              "privacy.delta=1e-4", "train.expected_batch_size=8"}));
        return std::any_of(plan.warnings.begin(), plan.warnings.end(),
                           [](const auto& said) { return said.starts_with("PRIVATE: most records"); });
    };
    CHECK(warned("24"));
    const scratch_directory scratch;
    const auto text = scratch.write("t.txt", [] {
        std::string out;
        for (int i = 0; i < 200; ++i) out += "a short one " + std::to_string(i) + "\n";
        return out;
    }());
    const auto plan =
        actors::check(config::load("config/demo.json", {"data.path=" + text, "data.template=null", "privacy.delta=1e-4",
                                                        "privacy.book=none", "train.expected_batch_size=8"}));
    CHECK(std::none_of(plan.warnings.begin(), plan.warnings.end(),
                       [](const auto& said) { return said.starts_with("PRIVATE"); }));
}

TEST_CASE("budgets that nothing can be learned under, or that hardly bind, are warned of") {
    const auto warned = [](const std::string& epsilon) {
        const auto plan = actors::check(config::load("config/demo.json", {"privacy.epsilon=" + epsilon}));
        return std::count_if(plan.warnings.begin(), plan.warnings.end(),
                             [](const auto& said) { return said.starts_with("privacy.epsilon is"); });
    };
    CHECK(warned("1e-3") == 1);  // 1e-9 is no different, and takes a minute to price
    CHECK(warned("1") == 0);
    CHECK(warned("10") == 0);
    CHECK(warned("10.5") == 1);
}

TEST_CASE("plans of equal work: the noise per unit falls as the batch grows, and the proposal keeps enough steps",
          "[full]") {
    const auto config = config::load("config/demo.json", {"train.epochs=null", "train.steps=300"});
    const std::int64_t population = 81000, units = GENERATE(300 * 64, 5000, 130);
    const auto all = actors::proposals(config, population, units);
    const auto& best = actors::choose_best(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& one = all[i];
        CAPTURE(units, one.expected_batch_size, one.steps);
        CHECK(one.steps == units / one.expected_batch_size);
        CHECK(one.noise_per_unit == one.noise_multiplier / static_cast<double>(one.expected_batch_size));
        if (i > 0) CHECK(one.noise_per_unit < all[i - 1].noise_per_unit);
        if (one.steps >= config::least_steps) CHECK(one.noise_per_unit >= best.noise_per_unit);
        // It is the run's own plan.
        auto same = config;
        same.train.expected_batch_size = one.expected_batch_size;
        same.train.steps = one.steps;
        same.train.warmup = one.warmup;
        same.privacy.population = population;
        const auto model = models::read_model_config(config.model.path);
        const auto spec = actors::resolve(same, population, model);
        const auto plan = actors::plan_run(spec, model, actors::choose_layout(spec, model));
        CHECK(one.noise_multiplier == plan.noise_multiplier);
    }
    CHECK((best.steps >= config::least_steps || &best == &all.front()));
    CHECK(actors::proposals(config, 100, 1000000).back().expected_batch_size == 64);
    const auto refused = [&](std::int64_t of, std::int64_t budget) -> std::string {
        try {
            actors::proposals(config, of, budget);
        } catch (const error& reason) {
            return reason.what();
        }
        return "";
    };
    CHECK(refused(population, 127).find("a budget of 127 units is too small") != std::string::npos);
    CHECK(refused(15, 10000).find("a population of 15 is below") != std::string::npos);
}

TEST_CASE(
    "a proposal's schedule is the configuration's, in as many steps, and a batch that the method refuses ends the "
    "list") {
    const auto config =
        config::load("config/demo.json", {"train.epochs=null", "train.steps=300", "train.expected_batch_size=64",
                                          "train.warmup=30", "train.schedule=\"wsd\"", "train.decay=100"});
    for (const auto& one : actors::proposals(config, 81000, 19'200)) {
        CHECK(one.warmup == std::max<std::int64_t>(1, 30 * one.steps / 300));
        CHECK(one.decay == std::max<std::int64_t>(1, 100 * one.steps / 300));
    }
    const auto tight = config::load(
        "config/demo.json", {"train.epochs=null", "train.steps=300", "method.name=\"dcsgd_p\"", "privacy.epsilon=2"});
    const auto some = actors::proposals(tight, 1000, 50000);
    CHECK(some.size() > 1);
    CHECK(some.back().expected_batch_size < 512);  // beyond, the noise is more than the histogram's
}

TEST_CASE("a unit's gradients take some time here") {
    const auto config = config::load("config/demo.json", {"train.expected_batch_size=null"});  // which is chosen
    CHECK(actors::seconds_per_unit(config, 20000).value() > 0);
    const auto plan = actors::check(config::load("config/demo.json", {}));
    const auto time = actors::estimate_time(config::load("config/demo.json", {}), plan).value();
    CHECK(time.seconds == Approx(time.seconds_per_unit * 64 * static_cast<double>(plan.steps)));
    CHECK_FALSE(time.of_an_hour.has_value() == (time.seconds <= 3600));
}

TEST_CASE("padded steps take the time of their room, whole tensors that of their sums too") {
    const auto padded = config::load("config/demo.json", {"privacy.pad_batches=true"});
    const auto plan = actors::check(padded);
    REQUIRE(plan.padded);
    const auto room = static_cast<double>(plan.padded->units);
    REQUIRE(room > 64);
    const auto time = actors::estimate_time(padded, plan, models::unit_shape{1, 8}).value();
    CHECK(time.units == room);
    CHECK(time.seconds == Approx(time.seconds_per_unit * room * static_cast<double>(plan.steps)));
    CHECK_FALSE(time.usual_seconds);
    for (const auto& one : actors::proposals(padded, 81000, 20'000, actors::counted::computed)) {
        CHECK(one.computed > one.expected_batch_size);
        CHECK(one.computed * one.steps <= 20'000);
    }
    const auto whole = config::load("config/demo.json", {R"(train.parameters=["norm"])", "train.lr=0.001"});
    CHECK(actors::estimate_time(whole, actors::check(whole)).value().seconds > 0);
}
