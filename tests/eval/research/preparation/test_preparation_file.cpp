#include "tests/eval/research/preparation/written.hpp"

#include <algorithm>
#include <set>

#include "data/sources/narrative.hpp"
#include "data/sources/synthetic.hpp"
#include "eval/research/preparation/real_runs.hpp"
// Behind what brings torch, whose CHECK is another.
#include "tests/catch.hpp"

using namespace rldp::testing;

TEST_CASE("a preparation's file says what is searched where, and what is held out") {
    const auto found = read(written);
    CHECK(found.seed == 3);
    CHECK(found.quadratics.seed == 3);
    CHECK(found.quadratics.offset == 8);
    CHECK(found.quadratics.held_out == std::vector<std::string>{"few-steep-warm"});
    CHECK(found.quadratics.tasks == 16);
    CHECK(found.quadratics.gate_tasks == 8);
    CHECK(found.quadratics.search.generations == 2);
    CHECK(found.quadratics.refinement.rounds == 1);
    CHECK(found.runs.offset == 4);
    REQUIRE(found.runs.prepared.size() == 2);
    REQUIRE(found.runs.held_out.size() == 1);
    const auto& brief = found.runs.prepared[0];
    CHECK(brief.name == "brief");
    CHECK(brief.base.filename() == "base.json");
    CHECK(brief.base.is_absolute());
    CHECK(brief.records == 300);
    CHECK(brief.set == std::vector<std::string>{"train.eval_records=8", "noise.bands=1"});
    REQUIRE(brief.drawn.size() == 2);
    CHECK(brief.drawn[1].values == std::vector<std::string>{"16", "24", "32"});
    CHECK(found.runs.held_out[0].name == "held");
    CHECK(found.runs.validation_tasks == found.runs.gate_tasks);
    CHECK(found.runs.gate_seed == 3);
}

TEST_CASE("a gate may be asked anew, of other tasks") {
    const auto found =
        read(with("\"population\": 4,", "\"population\": 4, \"gate_seed\": 8, \"validation_tasks\": 5,"));
    CHECK(found.runs.gate_seed == 8);
    CHECK(found.runs.validation_tasks == 5);
    CHECK(found.runs.gate_tasks == 2);
}

TEST_CASE("PPO learns in place of SAC where a preparation asks for it") {
    const auto asked = read(with("\"rounds\": 1}", "\"rounds\": 1, \"learner\": \"ppo\"}"));
    CHECK(std::holds_alternative<rldp::rl::residual_ppo_config>(asked.quadratics.refinement.learner));
    CHECK(std::holds_alternative<rldp::rl::residual_sac_config>(read(written).quadratics.refinement.learner));
}

TEST_CASE("a family may tell each table in words of its own") {
    const auto asked = read(with("\"records\": 300", "\"records\": 300, \"template\": \"random\""));
    const auto& family = asked.runs.prepared[0];
    CHECK(family.random_template);
    const auto tasks = rldp::eval::draw_runs({family}, asked.runs, 5, 0, 40);
    std::set<std::string> different;
    for (const auto& one : tasks) {
        const auto parsed = rldp::data::parse_template(one.row_template, one.name);
        CHECK(parsed.only_named);
        CHECK(parsed.columns.size() >= 5);
        CHECK(parsed.columns.size() <= 14);
        // Every named column is one of the made-up table's, and the words for a column's values differ.
        const auto known = rldp::data::synthetic_table({.encounters = 1, .world = 0}).columns();
        for (const auto& [name, rule] : parsed.columns) {
            CHECK(std::find(known.begin(), known.end(), name) != known.end());
            std::set<std::string> values;
            for (const auto& [value, word] : rule.values) values.insert(word);
            CHECK(values.size() == rule.values.size());
        }
        different.insert(one.row_template);
    }
    CHECK(different.size() == tasks.size());
    CHECK(rldp::eval::draw_runs({family}, asked.runs, 5, 3, 1).front().row_template == tasks[3].row_template);
    CHECK(rldp::eval::draw_runs({asked.runs.prepared[1]}, asked.runs, 5, 0, 1).front().row_template.empty());
    const auto set = "\"template\": \"random\", \"set\": {\"data.template\": \"x.json\"";
    CHECK(has(refusal([&] { read(with("\"set\": {\"train.eval_records\": 8", set)); }),
              "data.template is set for every"));
    CHECK(has(refusal([&] { read(with("\"records\": 300", "\"records\": 300, \"template\": \"x\"")); }),
              "brief.template: can be \"random\" alone"));
}

TEST_CASE("what a preparation's file can't mean is refused by its key") {
    const auto refused = [](const std::string& from, const std::string& to) {
        return refusal([&] { read(with(from, to)); });
    };
    CHECK(has(refused("\"seed\": 3", "\"sead\": 3"), "sead: is unknown here"));
    CHECK(has(refused("\"seed\": 3", "\"seed\": -3"), "seed: is -3; give a whole number"));
    CHECK(has(refused("\"offset\": 8", "\"offset\": 0.5"), "quadratics.offset: is 0.5"));
    CHECK(has(refused("\"offset\": 4, \"gen", "\"offset\": 0.5, \"gen"),
              "runs.offset: is 0.5; give a number in [1, 100]"));
    CHECK(has(refused("\"rounds\": 1}", "\"rounds\": 1, \"learner\": \"td3\"}"),
              "quadratics.learner: is \"td3\"; give sac or ppo"));
    // What files of earlier versions had.
    CHECK(has(refused("\"runs\": {", "\"runs\": {\"lr\": 0.01, "), "runs.lr: is unknown here"));
    CHECK(has(refused("\"runs\": {", "\"bilinear\": {}, \"runs\": {"), "bilinear: is unknown here"));
    CHECK(has(refused("\"population\": 4", "\"population\": 3"), "runs.population: is 3"));
    CHECK(has(refused("\"held_out\": [\"held\"]", "\"held_out\": [\"none\"]"), "runs.held_out: none is no family"));
    CHECK(
        has(refused("\"held_out\": [\"held\"]", "\"held_out\": [\"brief\", \"wide\", \"held\"]"), "leaves no family"));
    CHECK(has(refused("\"records\": 300", "\"records\": 3"), "runs.families.brief.records: is 3"));
    CHECK(has(refused("train.eval_records", "train.eval_recrods"), "did you mean train.eval_records?"));
    CHECK(has(refused("\"lora.rank\": [4, 8]", "\"lora.rank\": [4, 0]"), "lora.rank is 0"));
    CHECK(has(refused("\"lora.rank\": [4, 8]", "\"lora.rank\": []"), "must be a list of values"));
    CHECK(has(refused("\"brief\"", "\"br ief\""), "is no name"));
    // It reads no one's records, and sets what is searched itself.
    for (const std::string own :
         {"data.path", "rl.interval", "train.lr", "seed", "noise.allocation", "noise.insecure_reproducible"})
        CHECK(has(refused("train.eval_records\": 8", own + "\": \"x\""), own + " is set for every task"));
}

TEST_CASE("a preparation whose tasks could not run, or would read a file, is refused before any work") {
    const auto refused = [](const std::string& to) {
        return refusal([&] { read(with("\"train.eval_records\": 8", to)); });
    };
    CHECK(has(refused(R"("train.final_lr": 0.001)"), "runs.families.brief: its tasks are no sound configurations"));
    const auto drawn = refusal([&] { read(with("\"lora.rank\": [4, 8]", R"("train.schedule": ["linear"])")); });
    CHECK(has(drawn, "runs.families.wide"));
    CHECK(has(drawn, "train.schedule"));
    CHECK(has(refused(R"("public.path": "/records.csv")"), "/records.csv; a preparation is for no one's records"));
    CHECK(refused(R"("public.path": "synthetic:100@3")").empty());
    CHECK(has(refusal([&] { read(with("\"base.json\"", "\"none.json\"")); }), "none.json"));
    // What is known of a run beforehand, and its schedule may depend on, is the file's to say.
    CHECK(has(refusal([&] { read(with(", \"noise.bands\": 1}", "}")); }),
              "runs.families.brief: leaves noise.bands open"));
    CHECK(has(refusal([&] { read(with("\"train.steps\": [16, 24, 32]", "\"train.epochs\": [1, 2]")); }),
              "runs.families.brief: leaves train.steps open"));
}

TEST_CASE("a gate on runs is passed where the policy wins, hears what it wins by, and loses little at the usual rate") {
    using rldp::rl::paired;
    const auto surely = [](double gain) { return paired{.mean = -gain, .standard_error = 0.01, .wins = 0.5}; };
    const rldp::eval::run_gate sound{.hindsight = surely(1),
                                     .deaf = surely(0),
                                     .policy = surely(0.1),
                                     .feedback = surely(0.1),
                                     .default_rate = surely(0),  // whose lower bound is −.0196
                                     .nobody = {{"one", surely(0)}, {"other", surely(0)}}};
    CHECK(sound.passed());
    auto failed = sound;
    failed.policy = surely(0.019);
    CHECK_FALSE(failed.passed());
    failed = sound;
    failed.feedback = surely(0.019);
    CHECK_FALSE(failed.passed());
    failed = sound;
    failed.default_rate = surely(-0.001);
    CHECK_FALSE(failed.passed());
    failed = sound;
    failed.nobody["other"] = surely(-0.001);
    CHECK_FALSE(failed.passed());
}
