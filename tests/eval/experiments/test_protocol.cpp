// A comparison that is written down beforehand.
#include <cmath>
#include <set>

#include "config/schema.hpp"
#include "eval/experiments/shards.hpp"
#include "eval/research/protocol/protocol.hpp"
#include "tests/catch.hpp"
#include "tests/eval/experiments/fixtures.hpp"

using namespace rldp::eval;

namespace {

const std::string written = R"({
    "base": "base.json", "measure": "value_nats", "epsilons": [2, 0.5], "seeds": [0, 1, 2, 3, 4, 5],
    "tuning": {"set": {"data.path": "synthetic:100"}, "seeds": [100, 101], "trials": 3, "draw": 7,
               "axes": {"train.lr": [0.01, 0.02, 0.04], "clip.initial": [1, 0.1]}},
    "arms": {"static": {"about": "plain", "set": {"method.name": "static"}},
             "auto_s": {"set": {"method.name": "auto_s"}, "not_tuned": ["clip.initial"]},
             "rldp": {"set": {"rl.interval": 4}}},
    "ours": "rldp"})";

protocol read(const std::string& text) {
    const scratch_directory at;
    return read_protocol(at.write("p.json", text));
}

std::string with(const std::string& from, const std::string& to) {
    return replace_first(written, from, to);
}

std::string refused(const std::string& from, const std::string& to) {
    return refusal([&] { read(with(from, to)); });
}

measured done(const cell& where, double value, double at_half = 0) {
    measured out{where, done_cell(where.arm, where.epsilon, *where.seed, 1).result};
    out.result.summary->value_nats_before = 70;
    out.result.summary->value_nats_after = value;
    out.result.summary->sample_rate = 0.01;
    out.result.summary->units = 100;
    if (at_half > 0)
        for (const auto& [step, nats] : {std::pair{50, at_half}, {100, value}}) {
            metrics_line line;
            line.step = step;
            line.eval_value_nats = nats;
            line.progress = {line.step == 50 ? 0.6 * where.epsilon : where.epsilon, line.step};
            out.result.metrics.push_back(line);
        }
    return out;
}

}  // namespace

TEST_CASE("a protocol says what will be compared") {
    const auto how = read(written);
    CHECK(how.compared.name == "value_nats");
    CHECK(how.compared.which == better::lower);
    CHECK(how.epsilons == std::vector<double>{2, 0.5});
    CHECK(how.base.filename() == "base.json");
    REQUIRE(how.arms.size() == 3);
    CHECK(how.arms[1].name == "auto_s");  // in the file's order
    CHECK(how.arms[0].sentence == "plain");
    const auto named = [&](const std::string& name) {
        return *std::find_if(how.arms.begin(), how.arms.end(), [&](const arm& one) { return one.name == name; });
    };
    CHECK(named("static").set == std::vector<std::string>{"method.name=\"static\""});
    CHECK(named("static").tuned.size() == 2);
    CHECK(named("auto_s").tuned.size() == 1);
}

TEST_CASE("a protocol that can't be followed is refused by key") {
    CHECK(has(refused("\"measure\": \"value_nats\"", "\"measure\": \"bleu\""), "measure: \"bleu\" is unknown"));
    CHECK(has(refused("\"train.lr\"", "\"train.rate\""), "train.rate is no key of a configuration"));
    CHECK(has(refused("\"method.name\": \"auto_s\"", "\"methd.name\": \"auto_s\""), "arms.auto_s.set"));
    CHECK(has(refused("[100, 101]", "[100, 3]"), "3 is one of seeds too"));
    CHECK(has(refused("\"ours\": \"rldp\"", "\"ours\": \"nobody\""), "\"nobody\" is no arm"));
    CHECK(has(refused("\"rldp\": {\"set\"", "\"rldp\": {\"sets\""), "arms.rldp.sets: is unknown here"));
    for (const std::string key : {"seed", "data.split_seed", "privacy.epsilon", "train.eval_records", "eval.target",
                                  "noise.insecure_reproducible"})
        for (const std::string from : {"\"rl.interval\": 4", "\"clip.initial\": [1, 0.1]"}) {
            const auto* known = rldp::config::find_key(key);
            REQUIRE(known);
            const auto value = known->write(rldp::config::run_config{}).dump();
            const bool axis = from.ends_with(']');
            CHECK(has(refused(from, "\"" + key + "\": " + (axis ? "[" + value + "]" : value)),
                      "is the same for all arms"));
        }
    CHECK(has(refused("\"rl.interval\": 4", "\"train.lr\": 0.1"), "arms.rldp.set: train.lr is tuned"));
    CHECK(has(refused("\"data.path\": \"synthetic:100\"", "\"train.lr\": 0.1"),
              "tuning.set: train.lr is one of tuning.axes"));
    CHECK(has(refused("\"rl.interval\": 4", "\"rl.interval\": 0"), "arms.rldp.set: rl.interval is 0; give"));
    CHECK(has(refused("[1, 0.1]", "[1, 1.0]"), "tuning.axes.clip.initial: names one twice"));
    CHECK(has(refused("[0, 1, 2, 3, 4, 5]", "[0.5]"), "seeds: is of the wrong type"));
    CHECK(has(refused("\"trials\": 3", "\"trials\": 3.7"), "tuning.trials: is of the wrong type"));
    CHECK(has(refused("\"draw\": 7", "\"draw\": \"x\""), "tuning.draw: is of the wrong type"));
    CHECK(has(refused("\"about\": \"plain\"", "\"about\": 3"), "arms.static.about: is of the wrong type"));
    CHECK(has(refused("\"seeds\": [100, 101]", "\"seeds\": []"), "tuning.seeds: is empty"));
    const auto list_from = [](int first) {
        auto out = "[" + std::to_string(first * 1e-3);
        for (int i = 1; i < 400; ++i) out += "," + std::to_string((first + i) * 1e-3);
        return out + "]";
    };
    const auto large = refused("[0.01, 0.02, 0.04]", list_from(500) + ", \"train.final_lr\": " + list_from(1));
    INFO(large);
    CHECK(has(large, "more than 100000 combinations"));
    CHECK(has(refused("[2, 0.5]", "[2, 2]"), "epsilons: names one twice"));
    CHECK(has(refused("[2, 0.5]", "\"2\""), "epsilons: is of the wrong type"));
    CHECK(has(refused("\"trials\": 3", "\"trials\": 0"), "tuning.trials"));
    CHECK(has(refused("[\"clip.initial\"]", "[\"clip.max\"]"), "clip.max is no key of tuning.axes"));
    CHECK(has(refused("\"base\": \"base.json\",", ""), "base: is missing"));
}

TEST_CASE("paths are where the protocol lies, not where it is called") {
    const scratch_directory at;
    const auto how = read_protocol(at.write("p.json", with("\"synthetic:100\"", "\"other.csv\"")));
    CHECK(how.base == at / "base.json");
    CHECK(how.tuning.set == std::vector<std::string>{"data.path=\"" + (at / "other.csv").string() + "\""});
}

TEST_CASE("no p is below what signs of so many seeds can give, times the arms") {
    auto how = read(written);
    CHECK(how.least_p() == Approx(2 * 2.0 / 64));
    how.seeds.resize(12);
    CHECK(how.least_p() == Approx(2 * 2.0 / 4096));
    how.seeds.resize(1);
    CHECK(how.least_p() == 1);
}

TEST_CASE("what can't be measured, and tuning on the data of the test, is refused before anything runs") {
    const auto planned = [](const protocol& how, const resolver& by) {
        return refusal([&] { plan_protocol(how, by); });
    };
    auto how = read(written);
    CHECK(planned(how, fake_resolver()).empty());
    how.tuning.set.clear();
    CHECK(has(planned(how, fake_resolver()), "would be tuned on /data/real.csv, the data of the test"));
    CHECK(planned(how, fake_resolver("synthetic:50")).empty());  // nobody's
    how = read(written);
    CHECK(has(planned(how, fake_resolver("/data/real.txt")), "value_nats is of a table's values"));
    how.compared = {"auc", better::higher};
    CHECK(has(planned(how, fake_resolver()), "measure: auc is of the column that eval.target names"));
    how = read(written);
    how.epsilons = {2, -1};
    const auto strict = [](const std::vector<std::string>& overrides) {
        for (const auto& text : overrides)
            if (text == "privacy.epsilon=-1") rldp::refuse("privacy.epsilon is -1");
        return fake_resolver()(overrides);
    };
    CHECK(has(planned(how, strict), "privacy.epsilon is -1"));
}

TEST_CASE("every arm gets as many trials, no setting twice, and the same for the same draw") {
    auto how = read(written);
    for (const auto& which : how.arms) {
        const auto settings = list_trials(which, how);
        CHECK(settings.size() == 3);
        CHECK(std::set<std::vector<std::string>>(settings.begin(), settings.end()).size() == 3);
        CHECK(settings == list_trials(which, how));
    }
    how.tuning.trials = 100;
    CHECK(list_trials(how.arms.back(), how).size() == 6);  // all there are
    auto other = how;
    other.tuning.trials = how.tuning.trials = 4;
    other.tuning.draw = 8;
    CHECK(list_trials(how.arms.back(), how) != list_trials(how.arms.back(), other));
}

TEST_CASE("trials come before tests, on their own data and seeds, and tests get what was chosen") {
    const auto plan = plan_protocol(read(written), fake_resolver());
    CHECK(plan.trials.size() == 36);  // 2 ε, 3 arms, 3 trials, 2 tuning seeds
    std::set<std::string> ids;
    for (const auto& one : plan.trials) {
        ids.insert(one.id);
        CHECK_FALSE(one.split);  // nobody's records
    }
    CHECK(ids.size() == plan.trials.size());

    std::vector<measured> trials;
    for (const auto& one : plan.trials) {
        double value = 10 + static_cast<double>((*one.setting + 1) % 3);  // the third is best
        if (one.arm == "static" && *one.setting == 2 && one.seed == 101) value = std::nan("");
        if (one.arm == "rldp" && *one.setting == 2 && one.seed == 100) value = HUGE_VAL;
        trials.push_back(done(one, value));
    }
    const auto tuned = tune(plan, trials);
    REQUIRE(tuned.size() == 6);
    for (const auto& one : tuned) {
        const auto& which = *std::find_if(plan.how.arms.begin(), plan.how.arms.end(),
                                          [&](const arm& each) { return each.name == one.arm; });
        const std::size_t best = one.arm == "auto_s" ? 2 : 0;  // what diverged is not chosen
        CHECK(one.chosen == best);
        CHECK(one.setting == list_trials(which, plan.how)[best]);
        CHECK((one.settings == 3 && one.ended == 3 && one.failed == (one.arm == "auto_s" ? 0 : 1)));
    }
    const auto tests = test_cells(plan, tuned);
    CHECK(tests.size() == 36);  // 2 ε, 3 arms, 6 seeds
    for (const auto& one : tests) {
        CHECK(one.split);  // the table's, whose budget is spent
        const auto& chosen = *std::find_if(tuned.begin(), tuned.end(), [&](const tuned_arm& each) {
            return each.arm == one.arm && each.epsilon == one.epsilon;
        });
        for (const auto& text : chosen.setting)
            CHECK(std::count(one.overrides.begin(), one.overrides.end(), text) == 1);
        for (const auto& text : one.overrides) CHECK_FALSE(has(text, "synthetic"));
        CHECK(has(one.id, "-setting" + std::to_string(*chosen.chosen)));
    }

    // A trial that is done again after all, and is the best now: other cells, none of the former choice's.
    auto again = trials;
    for (auto& one : again)
        if (one.where.arm == "static" && *one.where.setting == 2) one.result.summary->value_nats_after = 1;
    std::set<std::string> before, after;
    for (const auto& one : tests)
        if (one.arm == "static") before.insert(one.id);
    for (const auto& one : test_cells(plan, tune(plan, again)))
        if (one.arm == "static") after.insert(one.id);
    for (const auto& id : after) CHECK_FALSE(before.contains(id));

    // One of another shard is not there yet: its arm waits, and the others are numbered as before.
    trials.back().result.state = cell_state::unfinished;
    const auto waiting = tune(plan, trials);
    CHECK(std::count_if(waiting.begin(), waiting.end(), [](const auto& one) { return one.ready(); }) == 5);
    for (const auto& one : test_cells(plan, waiting)) {
        const auto same = std::find_if(tests.begin(), tests.end(), [&](const auto& each) { return each.id == one.id; });
        REQUIRE(same != tests.end());
        CHECK(same->number == one.number);
    }
}

TEST_CASE("a number at the end of its axis is marked") {
    const auto plan = plan_protocol(read(with("\"trials\": 3", "\"trials\": 6")), fake_resolver());
    const auto edge = [&](const std::string& lr, const std::string& radius) {
        std::vector<measured> trials;
        for (const auto& one : plan.trials) {
            const auto& all = one.overrides;
            const bool best = std::count(all.begin(), all.end(), "train.lr=" + lr) > 0 &&
                              (one.arm == "auto_s" || std::count(all.begin(), all.end(), "clip.initial=" + radius) > 0);
            trials.push_back(done(one, best ? 1 : 2));
        }
        const auto tuned = tune(plan, trials);
        const auto of = [&](const char* name) {
            return std::find_if(tuned.begin(), tuned.end(), [&](const auto& one) { return one.arm == name; })->at_edge;
        };
        return std::pair(of("static"), of("auto_s"));
    };
    CHECK(edge("0.02", "0.1") == std::pair(true, false));  // of two values each is at an end
    CHECK(edge("0.04", "0.1") == std::pair(true, true));
}

namespace {

/// All tests of both ε, every arm's ends over the seeds as `end` says.
template <class End>
std::vector<measured> tests_ending(const protocol_plan& plan, End end) {
    std::vector<tuned_arm> tuned;
    for (const auto epsilon : plan.how.epsilons)
        for (const auto& one : plan.how.arms) tuned.push_back({.arm = one.name, .epsilon = epsilon, .setting = {}});
    std::vector<measured> cells;
    for (const auto& one : test_cells(plan, tuned)) cells.push_back(end(one));
    return cells;
}

const duel& against(const protocol_report& report, const std::string& arm) {
    return *std::find_if(report.duels.begin(), report.duels.end(), [&](const duel& one) { return one.arm == arm; });
}

}  // namespace

TEST_CASE("ties and misses: what the paired tests say, and who never reached the target") {
    const auto plan = plan_protocol(read(written), fake_resolver());
    const auto report =
        make_report(plan,
                    tests_ending(plan,
                                 [](const cell& one) {
                                     const auto seed = static_cast<double>(*one.seed);
                                     if (one.arm == "rldp") return done(one, 20 + seed, one.seed == 5 ? 40 : 20 + seed);
                                     if (one.arm == "static") return done(one, 21 + seed + 0.01 * seed * seed, 60);
                                     return done(one, 20 + seed + (*one.seed % 2 == 0 ? 0.5 : -0.5), 60);
                                 }),
                    "rldp compare");
    REQUIRE(report.duels.size() == 4);
    for (const auto& one : report.duels) {
        CHECK(one.seen.pairs == 6);
        CHECK(one.said == verdict::tie);
        if (one.arm == "static") {
            CHECK(one.seen.p == Approx(2.0 / 64));
            CHECK(one.adjusted_p.value() == Approx(4.0 / 64));  // six seeds are not enough for two arms
            CHECK(one.seen.mean_gain > 1);
        } else {
            CHECK(one.seen.mean_gain == Approx(0).margin(1e-9));
        }
    }
    REQUIRE(report.paces.size() == 4);  // ours and, to compare with, the best other arm: at each ε
    const auto& pace = report.paces.front();
    CHECK((pace.arm == "rldp" && pace.reached == "auto_s"));
    CHECK(pace.target == Approx(22.5));
    // Seeds 0, 1, 2 are there at half of the steps, 3, 4, 5 never.
    CHECK(pace.steps.censored == 3);
    CHECK(pace.steps.mean_share == Approx((3 * 0.5 + 3) / 6));
    CHECK(pace.examples == Approx((3 * 0.5 + 3) / 6));
    CHECK(pace.epsilon_share == Approx((3 * 0.6 + 3) / 6));  // the log tells 60 % as of that step
    CHECK(report.paces[1].arm == "auto_s");
    CHECK(report.paces[1].steps.censored == 2);         // of its own mean: seeds 4 and 5
    CHECK(report.cost.bounded == report.cells.size());  // a real table was read
    CHECK(report.cost.made_up == 0);
    for (const auto& text : {protocol_json(report), protocol_csv(report), protocol_html(report), protocol_text(report)})
        CHECK(has(text, "auto_s"));
    CHECK(has(protocol_text(report), "3 of 6 seeds never did"));
    CHECK(has(protocol_text(report), "nothing can be won here"));
    CHECK(has(protocol_html(report), "plain"));
}

TEST_CASE("a win and a loss, in either direction of the measure") {
    auto how = read(with("[0, 1, 2, 3, 4, 5]", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"));
    for (const auto which : {better::lower, better::higher}) {
        how.compared.which = which;
        const auto plan = plan_protocol(how, fake_resolver());
        const double sign = which == better::lower ? 1 : -1;
        const auto report =
            make_report(plan,
                        tests_ending(plan,
                                     [&](const cell& one) {
                                         const double gap = one.arm == "static" ? 1 : one.arm == "auto_s" ? -1 : 0;
                                         return done(one, 30 + sign * gap + 0.01 * static_cast<double>(*one.seed));
                                     }),
                        "");
        const auto &worse = against(report, "static"), &best = against(report, "auto_s");
        CHECK((worse.said == verdict::win && worse.seen.mean_gain == Approx(1)));
        CHECK((best.said == verdict::loss && best.seen.mean_gain == Approx(-1)));
        CHECK(worse.adjusted_p.value() == Approx(4.0 / 1024));
        CHECK((has(protocol_text(report), "win") && has(protocol_text(report), "loss")));
    }
}

TEST_CASE("no verdict while a cell is missing, whoever's it is") {
    const auto plan = plan_protocol(read(written), fake_resolver());
    for (const auto* late : {"static", "auto_s", "rldp"}) {
        const auto report = make_report(plan,
                                        tests_ending(plan,
                                                     [&](const cell& one) {
                                                         auto out = done(one, one.arm == "rldp" ? 20 : 21);
                                                         if (one.arm == late && one.seed == 5 && one.epsilon == 2)
                                                             out.result = {};
                                                         return out;
                                                     }),
                                        "");
        for (const auto& one : report.duels) CHECK(one.said.has_value() == (one.epsilon == 0.5));
        for (const auto& one : report.paces) CHECK(one.epsilon == 0.5);
        CHECK(has(protocol_text(report), "unfinished"));
        CHECK(has(protocol_text(report), "35 of 36 tests done"));
    }
}

TEST_CASE("a run that diverged counts as the model that it began with, and is counted") {
    const auto plan = plan_protocol(read(written), fake_resolver());
    const auto report =
        make_report(plan,
                    tests_ending(plan,
                                 [](const cell& one) {
                                     const bool lost = one.arm == "auto_s" && one.seed == 3;
                                     return done(one, lost ? std::nan("") : one.arm == "rldp" ? 20 : 21);
                                 }),
                    "");
    CHECK(against(report, "auto_s").seen.mean_gain == Approx((5 * 1 + 50) / 6.0));
    for (const auto& one : report.arms) CHECK(one.diverged == (one.tuned.arm == "auto_s" ? 1 : 0));
    CHECK(has(protocol_text(report), "A run that diverged counts"));
}

TEST_CASE("a directory of another protocol is not gone on with") {
    const scratch_directory at;
    const auto claimed = [&](const protocol& how, const resolver& by) {
        return refusal([&] { claim_directory(at / "out", plan_protocol(how, by).what); });
    };
    const auto how = read(written);
    CHECK(claimed(how, fake_resolver()).empty());
    CHECK(claimed(how, fake_resolver()).empty());
    auto other = how;
    other.arms.pop_back();
    CHECK(has(claimed(other, fake_resolver()), "axis arm is"));
    other = how;
    other.seeds.pop_back();
    CHECK(has(claimed(other, fake_resolver()), "axis seed is"));
    other = how;
    other.tuning.draw = 8;
    CHECK(has(claimed(other, fake_resolver()), "protocol.draw is"));
    const auto of_static = [](const std::vector<std::string>& overrides) {
        auto all = overrides;
        all.insert(all.begin(), "method.name=\"static\"");
        return fake_resolver()(all);
    };
    CHECK(has(claimed(how, of_static), "method.name is"));  // rldp's arm says nothing of its method
}

TEST_CASE("a shard is a part of the cells, and all of them are all") {
    std::vector<cell> cells(7);
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i].number = i;
    std::set<std::size_t> all;
    for (const char* text : {"1/3", "2/3", "3/3"})
        for (const auto& one : take_shard(cells, shard_from(text))) CHECK(all.insert(one.number).second);
    CHECK(all.size() == cells.size());
    CHECK(take_shard(cells, shard{}).size() == cells.size());
    const auto second = take_shard(cells, shard_from("2/3"));
    cells.erase(cells.begin());  // which can't be run yet
    const auto later = take_shard(cells, shard_from("2/3"));
    REQUIRE(later.size() == second.size());
    for (std::size_t i = 0; i < later.size(); ++i) CHECK(later[i].number == second[i].number);
    for (const char* text : {"0/3", "4/3", "1", "a/b", "1/3x", "-1/2"})
        CHECK(has(refusal([&] { shard_from(text); }), "--shard"));
}

TEST_CASE("cells that another machine has done are taken over, those of another grid are not") {
    const scratch_directory at;
    const grid what{"protocol", {{"arm", {"a"}}}, {{"seed", 1}}};
    const auto here = at / "here", there = at / "there";
    for (const auto& out : {here, there}) claim_directory(out, what);
    const std::string ledger_header =
        R"({"delta":1e-5,"guaranteed_epsilon":2,"insecure_reproducible":false,"semantics":"sound","steps":40})"
        "\n";
    const auto make = [&](const std::filesystem::path& out, const std::string& id, bool over) {
        const cell_files files{out, id};
        std::filesystem::create_directories(files.run().public_side());
        rldp::write_file(files.run().config(), "{}\n");
        if (!over) return;
        auto summary = sample_summary();
        summary.how = ending::done;
        rldp::write_file(files.run().ledger(), ledger_header);
        rldp::write_file(files.run().summary(), to_json(summary));
        rldp::write_file(files.run().certificate(), "{}\n");
        rldp::write_file(files.output(), "{}\n");
    };
    make(there, "done", true);
    make(there, "unfinished", false);
    make(there, "failed", false);
    write_history({there, "failed"}, {1.5, 2, "it died"});
    rldp::write_file(cell_files{there, "failed"}.run().ledger(), ledger_header);
    make(here, "done", false);  // begun here, over there
    write_history({here, "done"}, {1, 1, "no room"});
    rldp::write_file(cell_files{here, "done"}.run().ledger(), ledger_header);
    CHECK(has(refusal([&] { collect(here, what, there); }), "was begun here too"));
    std::filesystem::remove(cell_files{here, "done"}.run().ledger());
    CHECK(collect(here, what, there) == 1);
    CHECK(std::filesystem::exists(cell_files{here, "done"}.run().summary()));
    CHECK(read_result({here, "failed"}).state == cell_state::failed);           // a trial that failed has ended
    CHECK(std::filesystem::exists(cell_files{here, "failed"}.run().ledger()));  // what it spent is known
    CHECK_FALSE(std::filesystem::exists(cell_files{here, "unfinished"}.run().root));
    CHECK(collect(here, what, there) == 0);
    const grid other{"protocol", {{"arm", {"b"}}}, {{"seed", 1}}};
    CHECK(has(refusal([&] { collect(here, other, there); }), "is of another grid: axis arm is a there and b here"));
    CHECK(has(refusal([&] { collect(here, what, at / "nowhere"); }), "holds no grid"));
}
