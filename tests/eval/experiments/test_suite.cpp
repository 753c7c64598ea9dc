// Arms on many beds, written down beforehand.
#include <cmath>
#include <set>

#include "eval/research/suite/suite.hpp"
#include "tests/catch.hpp"
#include "tests/eval/experiments/fixtures.hpp"

using namespace rldp::eval;

namespace {

const std::string suite_file = R"({
    "about": "which arm is best", "set": {"eval.publish": "raw"}, "ours": "policy", "control": "schedule",
    "arms": {"policy": {"about": "steered", "set": {"rl.state": "prepared"}},
             "schedule": {"set": {"rl.state": "schedule"}},
             "tried": {"set": {"method.name": "static"}, "trials": {"train.lr": [0.01, 0.02]}}},
    "parts": {"small": {"about": "tables", "seeds": [0, 1],
                        "beds": {"claims": {"base": "claims.json", "measure": "value_nats"},
                                 "zitate": {"base": "zitate.json", "measure": "bits_per_byte"}}},
              "wide": {"seeds": [0], "arms": ["policy", "schedule"],
                       "beds": {"wide-claims": {"base": "claims.json", "measure": "value_nats", "set": {"model.path": "wide"}}}}}})";

suite read_in(const std::string& text) {
    const scratch_directory at;
    return read_suite(at.write("suite.json", text));
}

std::string refused_in(const std::string& from, const std::string& to) {
    return refusal([&] { read_in(replace_first(suite_file, from, to)); });
}

bed_plan plan_of(const suite& how, std::size_t part = 0, std::size_t bed = 0) {
    return plan_bed(how.parts[part], how.parts[part].beds[bed], {{"tried", 1.25}}, fake_resolver());
}

/// What the cell came to: its end of a measure of which all began with 100.
measured end_at(const cell& where, double end) {
    measured out{where, done_cell(where.arm, 2, *where.seed, 1).result};
    out.result.summary->value_nats_before = 100;
    out.result.summary->value_nats_after = end;
    return out;
}

/// Every cell of the bed, each arm's ends by seed 0, 1.
std::vector<measured> carry_out(const bed_plan& plan, const std::map<std::string, std::vector<double>>& ends,
                                const std::vector<double>& trials = {50, 40, 60, 70}) {
    std::vector<measured> out;
    const auto what = make_experiment(plan);
    std::size_t trial = 0;
    for (const auto& stage : what.stages)
        for (const auto& one : stage(out))
            out.push_back(end_at(one, one.trial ? trials[trial++] : ends.at(one.arm).at(*one.seed)));
    return out;
}

bool has_set(const cell& one, const std::string& text) {
    return std::ranges::find(one.overrides, text) != one.overrides.end();
}

}  // namespace

TEST_CASE("a suite says arms, beds and seeds, each part its own") {
    const auto how = read_in(suite_file);
    REQUIRE(how.parts.size() == 2);
    const auto &small = how.parts[0], &wide = how.parts[1];
    CHECK(small.arms.size() == 3);
    CHECK(small.beds[0].base.filename() == "claims.json");
    CHECK(small.beds[0].set == std::vector<std::string>{"eval.publish=\"raw\""});
    CHECK(small.beds[1].compared.name == "bits_per_byte");
    CHECK(count_runs(small.arms[2]) == 3);
    CHECK(count_runs(small.arms[0]) == 1);
    REQUIRE(wide.arms.size() == 2);
    CHECK(wide.beds[0].set.size() == 2);
    CHECK(wide.seeds == std::vector<std::int64_t>{0});
}

TEST_CASE("a suite that can't be followed is refused by key") {
    CHECK(has(refused_in("\"value_nats\"", "\"auc\""), "parts.small.beds.claims.measure: is \"auc\"; use perplexity"));
    CHECK(has(refused_in("\"ours\": \"policy\"", "\"ours\": \"nobody\""),
              "parts.small.arms: lack \"nobody\", which is ours"));
    CHECK(
        has(refused_in("\"policy\", \"schedule\"]", "\"policy\", \"tried\"]"), "lack \"schedule\", which is control"));
    CHECK(has(refused_in("\"policy\", \"schedule\"]", "\"policy\", \"other\"]"), "\"other\" is no arm"));
    CHECK(has(refused_in("[0.01, 0.02]", "[0.01]"), "arms.tried.trials: are 1 trials; a budget pays for 2 to"));
    CHECK(has(refused_in("[0.01, 0.02]", "[0.01, 0.010]"), "arms.tried.trials.train.lr: names one twice"));
    CHECK(has(refused_in("\"wide-claims\"", "\"claims\""), "parts.wide.beds: claims is there twice"));
    CHECK(has(refused_in("\"wide-claims\"", "\"a/b\""), "is no name of letters"));
    CHECK(has(refused_in("\"seeds\": [0, 1]", "\"seeds\": []"), "parts.small.seeds: is empty"));
    CHECK(has(refused_in("\"base\": \"claims.json\", ", ""), "parts.small.beds.claims.base: is missing"));
    CHECK(has(refused_in("\"rl.state\": \"prepared\"", "\"rl.stat\": \"prepared\""), "rl.stat is no key"));
    CHECK(has(refused_in("\"rl.state\": \"prepared\"", "\"privacy.epsilon\": 8"), "is the same for all arms"));
    CHECK(has(refused_in("\"train.lr\": [0.01, 0.02]", "\"train.steps\": [10, 20]"),
              "train.steps may change what a run costs"));
    CHECK(has(refused_in("{\"train.lr\": [0.01, 0.02]}", "{}"), "are 0 trials"));
    CHECK(has(refused_in("\"about\": \"which", "\"why\": \"which"), "why: is unknown here"));
}

TEST_CASE("each arm runs each seed, and one that tries settings pays for them first") {
    const auto bed = plan_of(read_in(suite_file));
    const auto what = make_experiment(bed);
    const auto trials = what.stages[0]({});
    REQUIRE(trials.size() == 4);
    for (const auto& one : trials) {
        CHECK(one.trial);
        CHECK(has_set(one, "privacy.epsilon=1.25"));
    }
    CHECK(what.stages[1]({}).size() == 4);  // those that try wait
    const auto cells = carry_out(bed, {{"policy", {20, 22}}, {"schedule", {30, 30}}, {"tried", {25, 27}}});
    std::map<std::string, cell> tests;
    for (const auto& one : cells)
        if (!one.where.trial) tests[one.where.id] = one.where;
    REQUIRE(tests.size() == 6);
    CHECK(has_set(tests.at("tried-seed0-setting2"), "train.lr=0.02"));  // each seed by its own trials
    CHECK(has_set(tests.at("tried-seed1-setting1"), "train.lr=0.01"));
    CHECK(has_set(tests.at("tried-seed1-setting1"), "privacy.epsilon=1.25"));
    CHECK(has_set(tests.at("policy-seed1"), "rl.state=\"prepared\""));
    CHECK(has_set(tests.at("policy-seed1"), "seed=1"));
    CHECK_FALSE(has_set(tests.at("policy-seed1"), "privacy.epsilon=1.25"));
    std::map<std::int64_t, std::set<std::size_t>> places;  // whose trials lie on another shard could never go on
    for (const auto& one : cells)
        if (one.where.arm == "tried") places[*one.where.seed].insert(one.where.number);
    for (const auto& [seed, of_seed] : places) CHECK(of_seed.size() == 1);
    CHECK(places[0] != places[1]);
}

TEST_CASE("a failed trial is not chosen, and nothing is while one can still end") {
    const auto bed = plan_of(read_in(suite_file));
    const auto what = make_experiment(bed);
    std::vector<measured> cells;
    for (const auto& one : what.stages[0]({})) cells.push_back(end_at(one, 10 + static_cast<double>(*one.setting)));
    cells[0].result = {};
    CHECK(what.stages[1](cells).size() == 5);  // seed 1's alone
    cells[0].result.state = cell_state::failed;
    cells[0].result.lost = true;
    const auto tests = what.stages[1](cells);
    CHECK(std::ranges::any_of(tests, [](const cell& one) { return one.id == "tried-seed0-setting2"; }));
}

TEST_CASE("regret is what the best arm's gain leaves, and there is none before a bed is done") {
    const auto bed = plan_of(read_in(suite_file));
    auto cells = carry_out(bed, {{"policy", {20, 22}}, {"schedule", {41, 41}}, {"tried", {60.5, 60.5}}});
    const auto whole = judge_bed(bed, cells);
    CHECK(whole.complete);
    CHECK(whole.before == 100);
    CHECK(*whole.scores[0].regret == 0);
    CHECK(std::abs(*whole.scores[1].regret - 20.0 / 79) < 1e-12);
    CHECK(std::abs(*whole.scores[2].regret - 0.5) < 1e-12);
    cells.back().result = {};
    const auto part = judge_bed(bed, cells);
    CHECK_FALSE(part.complete);
    CHECK_FALSE(part.scores[0].regret);
    const auto diverged =
        judge_bed(bed, carry_out(bed, {{"policy", {NAN, 20}}, {"schedule", {41, 41}}, {"tried", {60.5, 60.5}}}));
    CHECK(diverged.scores[0].diverged == 1);
    CHECK(*diverged.scores[0].end.mean == 60);  // the model that it began with, and 20
    const auto nothing =
        judge_bed(bed, carry_out(bed, {{"policy", {101, 102}}, {"schedule", {100, 100}}, {"tried", {100, 105}}}));
    CHECK(nothing.complete);
    CHECK_FALSE(nothing.scores[0].regret);
}

TEST_CASE("verdicts are over beds, by signed ranks, and wait for the last bed") {
    auto text = suite_file;
    std::string beds;
    for (int i = 0; i < 8; ++i)
        beds += (i > 0 ? ", \"b" : "\"b") + std::to_string(i) + R"(": {"base": "x.json", "measure": "value_nats"})";
    const auto from = text.find("\"claims\""), to = text.find("}}", from);
    text.replace(from, to + 1 - from, beds);
    const auto how = read_in(text);
    REQUIRE(how.parts[0].beds.size() == 8);
    std::vector<bed_result> results;
    for (std::size_t i = 0; i < 8; ++i) {
        const auto bed = plan_of(how, 0, i);
        const double behind = static_cast<double>(i + 1);
        results.push_back(judge_bed(
            bed,
            carry_out(bed, {{"policy", {20, 20}}, {"schedule", {20 + behind, 20 + behind}}, {"tried", {20, 20}}})));
    }
    const auto judged = judge_part(how, how.parts[0], results);
    REQUIRE(judged.duels.size() == 2);
    CHECK(judged.duels[0].arm == "schedule");
    CHECK(judged.duels[0].seen.p == 2.0 / 256);
    CHECK(*judged.duels[0].adjusted_p == 4.0 / 256);
    CHECK(*judged.duels[0].said == verdict::win);
    CHECK(judged.duels[1].seen.p == 1);
    CHECK(*judged.duels[1].said == verdict::tie);
    CHECK(judged.standings.front().mean == 0);
    CHECK(judged.standings.front().first == 8);
    CHECK(judged.standings.back().arm == "schedule");
    CHECK(judged.standings.back().worst_bed == "b7");
    CHECK(std::abs(judged.standings.back().worst - 8.0 / 80) < 1e-12);
    // One bed where ours loses by more than it wins on any other is the largest rank and no more.
    auto upset = results;
    const auto last = plan_of(how, 0, 7);
    upset.back() =
        judge_bed(last, carry_out(last, {{"policy", {40, 40}}, {"schedule", {20, 20}}, {"tried", {20, 20}}}));
    CHECK(judge_part(how, how.parts[0], upset).duels[0].seen.p == 50.0 / 256);
    results.back().complete = false;
    for (auto& one : results.back().scores) one.regret.reset();
    const auto waiting = judge_part(how, how.parts[0], results);
    CHECK(waiting.complete == 7);
    CHECK_FALSE(waiting.duels[0].said);
    CHECK(waiting.standings.front().beds == 7);
}

TEST_CASE("a suite's files say ends, regrets and how to go on") {
    const auto how = read_in(suite_file);
    std::vector<part_result> parts;
    for (std::size_t i = 0; i < 2; ++i) {
        std::vector<bed_result> beds;
        for (std::size_t b = 0; b < how.parts[i].beds.size(); ++b) {
            const auto bed = plan_of(how, i, b);
            beds.push_back(judge_bed(
                bed, b == 0 ? carry_out(bed, {{"policy", {20, 22}}, {"schedule", {41, 41}}, {"tried", {60.5, 60.5}}})
                            : std::vector<measured>{}));
        }
        parts.push_back(judge_part(how, how.parts[i], std::move(beds)));
    }
    const auto report = make_report(how, parts, "rldp suite s.json");
    const auto text = suite_text(report);
    CHECK(has(text, "small: 1 of 2 beds, 6 of 12 tests done"));
    CHECK(has(text, "wide: 1 of 1 beds, 2 of 2 tests done"));
    CHECK(has(text, "by itself each of its runs is worth ε = 1.25 on claims, 1.25 on zitate"));
    const auto document = nlohmann::json::parse(suite_json(report));
    const auto& claims = document["parts"][0]["beds"][0];
    CHECK(claims["arms"]["policy"]["ends"]["1"] == 22);
    CHECK(claims["arms"]["tried"]["regret"] == 0.5);
    CHECK(document["parts"][0]["comparisons"][0]["verdict"].is_null());
    CHECK(document["parts"][1]["comparisons"][0]["verdict"] == "tie");
    const auto csv = suite_csv(report);
    CHECK(has(csv, "claims/tried-seed0-setting2"));
    CHECK(has(suite_html(report), "rldp suite s.json"));
}
