// Audits of small runs, and where the auditor stands.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "actors/audit_launch.hpp"
#include "actors/auditor.hpp"
#include "actors/hub.hpp"
#include "base/directories.hpp"
#include "base/files.hpp"
#include "bench/plain_loop.hpp"
#include "config/config.hpp"
#include "eval/audit/statistics/one_run_bound.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "run/artifacts/membership.hpp"
#include "run/audit/audit.hpp"
#include "run/audit_evidence.hpp"
#include "run/finish.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"
#include "tests/support/owned.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

config::run_config small(const std::vector<std::string>& more = {}) {
    std::vector<std::string> set = {"data.path=synthetic:300",
                                    "data.max_tokens=48",
                                    "data.keep=tail",
                                    "train.steps=4",
                                    "train.warmup=0",
                                    "train.eval_every=2",
                                    "train.expected_batch_size=6",
                                    "train.micro_batch=8",
                                    "train.eval_records=4",
                                    "method.name=static",
                                    "audit.trials=12",
                                    "audit.references=20",
                                    "audit.targets=20"};
    set.insert(set.end(), more.begin(), more.end());
    return config::load("config/demo.json", set);
}

/// Runs to the end, without actors.
void finish(const config::run_config& config, const std::filesystem::path& directory, std::int64_t until = 1000,
            const opening& how = {}) {
    auto opened = create_run(config, directory, how);
    bench::run_plain(opened, until);
    const auto& training = opened.parts.steps->training();
    if (!training.finished()) return;
    finish_run(*opened.facts,
               {actors::ending::done, training.step(), training.lost(), training.adapter(), training.trace(), {}});
}

eval::audit_report audited(const std::filesystem::path& directory, bool during_run = false) {
    auto run = open_audited(directory, during_run);
    read_adapter(run);
    return audit(run, {});
}

bool says(const std::vector<std::string>& lines, const std::string& part) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const auto& line) { return line.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("canaries join by fair coins of the run key, and the file says who is in") {
    scratch_directory scratch;
    const auto config = small({"audit.canaries=400", "audit.gradient_canaries=300"});
    std::vector<std::vector<bool>> coins;
    for (const char* name : {"one", "two"}) {
        auto opened = create_run(config, scratch / name);
        const auto who = eval::read_membership(eval::run_directory{scratch / name}.membership());
        REQUIRE(who.canary_in.size() == 400);
        REQUIRE(who.gradient_canary_in.size() == 300);
        const auto in = std::count(who.canary_in.begin(), who.canary_in.end(), true);
        CHECK(std::abs(static_cast<double>(in) - 200) < 5 * 10);
        coins.push_back(who.canary_in);
        coins.push_back(who.gradient_canary_in);
    }
    CHECK(coins[0] != coins[2]);
    CHECK(coins[1] != coins[3]);
    coins[0].resize(300);
    CHECK(coins[0] != coins[1]);
}

TEST_CASE("training units are the real ones, then the canaries that are in") {
    const auto config = small({"audit.canaries=5", "audit.gradient_canaries=4"});
    const auto words = models::tokenizer::load(config.model.path);
    const auto data = load_data(config::to_reading_spec(config), *words, 48, nullptr);
    eval::membership_record who;
    who.canary_in = {true, false, false, true, false};
    who.gradient_canary_in = {false, true, false, true};
    const auto units = training_units(data.train, data.audit_canaries, who);
    REQUIRE(units.size() == data.train.size() + 4);
    for (std::size_t i = 0; i < data.train.size(); ++i) CHECK(owned(units[i]).records == owned(data.train[i]).records);
    std::vector<data::token_unit> added;
    for (std::size_t i = data.train.size(); i < units.size(); ++i) added.push_back(owned(units[i]));
    CHECK(added[0].records == data.audit_canaries[0].records);
    CHECK(added[1].records == data.audit_canaries[3].records);
    CHECK(added[2].gradient_canary == 1);
    CHECK(added[3].gradient_canary == 3);
    CHECK(added[2].records.empty());
    for (std::size_t i = 0; i < data.train.size() + 2; ++i) CHECK(!units[i].gradient_canary);
}

TEST_CASE("a resumed run keeps its canaries and its trace") {
    scratch_directory scratch;
    // In one band: in several a new process begins a new block of noise.
    const auto config = small({"audit.gradient_canaries=30", "noise.insecure_reproducible=true", "noise.bands=1"});
    finish(config, scratch / "whole");
    finish(config, scratch / "parts", 2);
    const eval::run_directory parts{scratch / "parts"};
    const auto before = read_file(parts.membership());
    auto opened = resume_run(parts.root);
    CHECK(opened.parts.steps->training().step() == 2);
    bench::run_plain(opened, 4);
    const auto& training = opened.parts.steps->training();
    finish_run(*opened.facts,
               {actors::ending::done, training.step(), training.lost(), training.adapter(), training.trace(), {}});
    CHECK(read_file(parts.membership()) == before);
    CHECK(read_file(parts.trace()) == read_file(eval::run_directory{scratch / "whole"}.trace()));
}

TEST_CASE("an audit of a whole run reports every attack") {
    scratch_directory scratch;
    finish(small({"data.canaries=3", "data.split=exact", "eval.publish=none", "audit.canaries=20",
                  "audit.gradient_canaries=20", "audit.prompt=config/canary-prompt.txt",
                  "audit.ending=the patient was readmitted"}),
           scratch / "run");
    const auto report = audited(scratch / "run");
    CHECK(report.step == 4);
    CHECK(report.steps == 4);
    CHECK(report.claimed_epsilon == Approx(8).epsilon(0.01));
    CHECK(report.delta == 1e-5);
    CHECK(report.left_out.empty());
    REQUIRE(report.extractions.size() == 2);
    for (const auto& one : report.extractions) {
        CHECK(one.trials == 12);
        CHECK(one.canaries == 3);
        CHECK(one.valid <= 12);
        CHECK(one.likeness.has_value() == (one.valid > 0));
    }
    REQUIRE(report.exposure);
    CHECK(report.exposure->canaries.size() == 3);
    CHECK(!report.exposure->all);
    for (const auto& one : report.exposure->canaries) {
        CHECK(one.where.starts_with("line "));
        CHECK(one.where.find(", record ") != std::string::npos);
        CHECK(one.rank <= std::log2(21.0));
        CHECK(one.extrapolated);
    }
    REQUIRE(report.membership);
    const auto& [members, non_members, attack, scored] = *report.membership;
    CHECK(std::ssize(members.scores) + members.discarded == 20);
    CHECK(std::ssize(non_members.scores) + non_members.discarded == 20);
    CHECK(members.discarded > 0);  // "was not readmitted" has no such ending
    CHECK(scored == "its ending");
    CHECK(attack.auc);
    REQUIRE(report.bounds.size() == 2);
    for (const auto& one : report.bounds) {
        CHECK(one.seen.canaries == 20);
        CHECK(one.seen.guesses == 10);
        CHECK(one.confidence == Approx(0.975));  // both together 0.95
        CHECK(one.gaussian_epsilon >= one.epsilon);
    }
}

TEST_CASE("a run with noise in bands, and a trial of a tuning, are audited as others are") {
    scratch_directory scratch;
    const std::vector<std::string> few = {"privacy.epsilon=2", "train.steps=24",
                                          "noise.bands=3",     "train.expected_batch_size=24",
                                          "audit.canaries=20", "audit.gradient_canaries=100"};
    const auto audited_at = [&](const std::filesystem::path& directory) {
        const auto found = audited(directory);
        REQUIRE(found.bounds.size() == 2);
        for (const auto& one : found.bounds) CHECK(one.epsilon < found.claimed_epsilon);
        return found;
    };
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.end(), few.begin(), few.end());
        return small(more);
    };
    finish(with({}), scratch / "run");
    CHECK(audited_at(scratch / "run").claimed_epsilon == Approx(2).epsilon(0.01));

    // A trial is held against what all runs of its tuning promise together; each has coins of its own.
    const auto tuned = scratch / "tuned";
    create_private_directory(tuned / "trusted");
    std::vector<std::vector<bool>> coins;
    for (const char* name : {"trial-1", "trial-2"}) {
        const auto trial = tuned / "cells" / name;
        finish(with({"privacy.runs=3"}), trial, 1000, {.account = tuned});
        CHECK(audited_at(trial).claimed_epsilon == Approx(2).epsilon(0.01));
        coins.push_back(eval::read_membership(eval::run_directory{trial}.membership()).gradient_canary_in);
    }
    CHECK(coins[0] != coins[1]);
}

TEST_CASE("what the run did not release is not attacked") {
    scratch_directory scratch;
    finish(small(), scratch / "run");
    const eval::run_directory where{scratch / "run"};
    const auto weights = where.adapter() / "adapter_model.safetensors";
    const auto released = read_file(weights);
    auto changed = released;
    changed[changed.size() - 2] = static_cast<char>(changed[changed.size() - 2] ^ 1);  // of the last number's mantissa
    const auto attack = [&] {
        auto run = open_audited(where.root, false);
        read_adapter(run);
    };
    write_file(weights, changed);
    CHECK(refusal(attack).find("public/adapter/adapter_model.safetensors is another file") != std::string::npos);
    write_file(weights, released);
    write_file(where.public_side() / "notes.txt", "other files are nobody's business");
    CHECK(refusal(attack).empty());
}

TEST_CASE("members are scored on the one side, Attack units on the other") {
    scratch_directory scratch;
    finish(small(), scratch / "run");
    auto run = open_audited(scratch / "run", false);
    read_adapter(run);
    lines left_out;
    const auto found = *guess_members(run, left_out);
    CHECK(found.members.scores != found.non_members.scores);
    std::swap(run.pool.units.members, run.pool.units.non_members);
    const auto swapped = *guess_members(run, left_out);
    CHECK(swapped.members.scores == found.non_members.scores);
    CHECK(swapped.non_members.scores == found.members.scores);
    CHECK(*swapped.attack.auc == Approx(1 - *found.attack.auc));
    run.pool.units.non_members.clear();
    CHECK(!guess_members(run, left_out));
    CHECK(says(left_out, "Attack side"));
}

TEST_CASE("look canaries tell sums without noise from those that have it") {
    constexpr std::size_t canaries = 40, entries = 3;
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    const double z = 2.4;  // of three looks at ε 4 or so
    const auto bound = [&](double noise) {
        std::vector<bool> in(canaries);
        std::vector<double> sum(entries);
        for (std::size_t j = 0; j < canaries; ++j) {
            in[j] = random() % 2 == 0;
            const auto own = look_canary(j, entries);
            for (std::size_t i = 0; i < entries; ++i) sum[i] += in[j] ? own[i] : 0;
        }
        std::vector<traced_look> trace;
        for (std::int64_t look = 1; look <= 3; ++look) {
            traced_look one{look, sum, std::vector<double>(entries, 17.25)};
            for (auto& each : one.released) each += 17.25 + noise * z * normal(random);
            trace.push_back(one);
        }
        const auto seen = eval::guess_by_score(look_scores(trace, canaries), in, 20);
        return eval::epsilon_lower_bound(seen, 1e-5, 0.05);
    };
    CHECK(bound(0) > 1.7);  // all of 20 guesses right, which is all that so many can show
    int above = 0;
    for (int trial = 0; trial < 200; ++trial) above += bound(1) > privacy::compute_epsilon({3, z}, 1e-5) ? 1 : 0;
    CHECK(above == 0);
}

TEST_CASE("an audit of a run's looks reads its canaries' coins and its trace") {
    scratch_directory scratch;
    finish(small({"audit.look_canaries=30"}), scratch / "run");
    const auto who = eval::read_membership(eval::run_directory{scratch / "run"}.membership());
    CHECK(who.look_canary_in.size() == 30);
    const auto report = audited(scratch / "run");
    REQUIRE(report.bounds.size() == 1);
    CHECK(report.bounds[0].canaries == "looks");
    CHECK(report.bounds[0].seen.canaries == 30);
    CHECK(report.bounds[0].epsilon < 8);
    CHECK_FALSE(says(report.left_out, "even if all are right"));
    std::filesystem::remove(eval::run_directory{scratch / "run"}.look_trace());
    CHECK(says(audited(scratch / "run").left_out, "look_trace.json is missing"));
}

TEST_CASE("an audit of too few canaries to bound anything says so") {
    scratch_directory scratch;
    finish(small({"audit.look_canaries=9"}), scratch / "run");
    CHECK(says(audited(scratch / "run").left_out,
               "lower bound on ε from looks: with 4 guesses at 9 canaries it is 0, even if all are right"));
}

TEST_CASE("canary records are scored by what training changed: an adapter without effect knows nothing of them") {
    scratch_directory scratch;
    finish(small({"audit.canaries=100"}), scratch / "run");
    auto run = open_audited(scratch / "run", false);
    read_adapter(run);
    run.adapter = {run.model.layout, run.model.initial_adapter};
    lines left_out;
    const auto seen = bound_epsilon(run, left_out).front().seen;
    const std::vector<double> alike(100, 0);
    CHECK(seen.correct == eval::guess_by_score(alike, run.who.canary_in, seen.guesses).correct);
}

TEST_CASE("a secret's log-perplexity is that of its tokens after the record") {
    scratch_directory scratch;
    finish(small({"data.canaries=2", "data.split=exact", "eval.publish=none"}), scratch / "run");
    auto run = open_audited(scratch / "run", false);
    read_adapter(run);
    const auto found = *expose(run);
    REQUIRE(found.canaries.size() == 2);
    std::size_t next = 0;
    for (const auto& unit : run.pool.units.carriers) {
        const auto& record = unit.records.front();
        const auto text = run.split(record, record.size() - unit.canary->size() - 1);
        const auto direct = -eval::end_log_likelihoods(run.tuned(), {*text}).front() / std::log(2.0);
        CHECK(found.canaries.at(next++).log_perplexity == Approx(direct).epsilon(0.01));
    }
}

TEST_CASE("a canary of a few characters is ranked among all there are") {
    scratch_directory scratch;
    finish(small({"data.canaries=1", "data.split=exact", "eval.publish=none", "data.canary_length=2"}),
           scratch / "run");
    const auto report = audited(scratch / "run");
    REQUIRE(report.exposure);
    CHECK(report.exposure->all);
    CHECK(report.exposure->references == 36 * 36 - 1);
    CHECK(!report.exposure->canaries.front().extrapolated);
}

TEST_CASE("what a run lacks is left out, each with a line that says how to get it") {
    scratch_directory scratch;
    finish(small(), scratch / "run");
    const auto report = audited(scratch / "run");
    CHECK(report.bounds.empty());
    CHECK(report.extractions.empty());
    CHECK(!report.exposure);
    CHECK(says(report.left_out, "data.canaries"));
    CHECK(says(report.left_out, "audit.canaries"));
    CHECK(report.membership);
    finish(small({"audit.ending=no such words"}), scratch / "other");
    const auto other = audited(scratch / "other");
    CHECK(says(other.left_out, "--ending"));
    CHECK(!other.membership->attack.auc);

    finish(small({"audit.canaries=20", "audit.gradient_canaries=20"}), scratch / "traced");
    const auto trace = eval::run_directory{scratch / "traced"}.trace();
    std::filesystem::remove(trace);
    const auto without = audited(scratch / "traced");
    CHECK(says(without.left_out, trace.string() + " is missing"));
    REQUIRE(without.bounds.size() == 1);
    CHECK(without.bounds[0].confidence == Approx(0.975));  // both kinds were fixed before the run
}

TEST_CASE("runs that can't be audited are refused in a line") {
    scratch_directory scratch;
    CHECK(refusal([&] { open_audited(scratch / "none", false); }).find("holds no run") != std::string::npos);
    finish(small({"data.path=synthetic:299"}), scratch / "run", 2);
    CHECK(refusal([&] { open_audited(scratch / "run", false); }).find("--during-run") != std::string::npos);
    const auto underway = audited(scratch / "run", true);
    CHECK(underway.step == 2);

    finish(small(), scratch / "over");
    CHECK(refusal([&] { open_audited(scratch / "over", true); }).find("leave --during-run away") != std::string::npos);
    const eval::run_directory where{scratch / "over"};
    auto text = read_file(where.config());
    const auto path = text.find("synthetic:300");
    REQUIRE(path != std::string::npos);
    write_file(where.config(), text.replace(path, 13, "synthetic:301"));
    const auto line = refusal([&] { open_audited(where.root, false); });
    CHECK(line.find("other records") != std::string::npos);
    CHECK(line.find("synthetic:301") != std::string::npos);
    std::filesystem::remove(where.membership());
    CHECK(refusal([&] { open_audited(where.root, false); }).find("membership.json") != std::string::npos);
}

TEST_CASE("of a run that promises nothing an audit says that nothing is claimed") {
    scratch_directory scratch;
    finish(small({"noise.insecure_reproducible=true"}), scratch / "run");
    const auto report = audited(scratch / "run");
    CHECK(std::isinf(report.claimed_epsilon));
    CHECK(eval::verdict(report).starts_with("nothing claimed"));
}

TEST_CASE("a damaged trace or record of who was in training is refused") {
    scratch_directory scratch;
    finish(small({"audit.gradient_canaries=20"}), scratch / "run");
    const eval::run_directory where{scratch / "run"};
    auto trace = read_file(where.trace());
    trace.back() = static_cast<char>(trace.back() ^ 1);
    write_file(where.trace(), trace);
    CHECK(refusal([&] { audited(scratch / "run"); }).find(where.trace().string() + ": is damaged") !=
          std::string::npos);
    auto who = read_file(where.membership());
    const auto at = who.find("true");
    REQUIRE(at != std::string::npos);
    write_file(where.membership(), who.replace(at, 4, "false"));
    CHECK(refusal([&] { audited(scratch / "run"); }).find("membership.json: is damaged") != std::string::npos);
}

TEST_CASE("a trace of another size is refused") {
    scratch_directory scratch;
    finish(small({"audit.gradient_canaries=20"}), scratch / "run");
    const auto trace = eval::run_directory{scratch / "run"}.trace();
    write_trace(trace, at::zeros({7}, at::kDouble));
    CHECK(refusal([&] { audited(scratch / "run"); }).find(trace.string()) != std::string::npos);
}

TEST_CASE("LiRA reads shadow runs of the same split, and no others") {
    scratch_directory scratch;
    finish(small(), scratch / "run");
    std::vector<std::filesystem::path> shadows;
    for (const char* number : {"0", "1"}) {
        shadows.push_back(scratch / number);
        finish(small({std::string("audit.shadow=") + number}), shadows.back());
    }
    auto run = open_audited(scratch / "run", false);
    read_adapter(run);
    const auto two = audit(run, shadows);
    REQUIRE(two.shadows);
    CHECK(two.shadows->shadows == 2);
    CHECK(two.shadows->offline.auc);
    CHECK(two.shadows->online.auc);
    const auto one = audit(run, {shadows.front()});
    REQUIRE(one.shadows);
    CHECK(one.shadows->offline.auc);
    CHECK(!one.shadows->online.auc);  // a target that is in has no model without it
    const auto& members = run.pool.units.members;
    const auto scored = std::count_if(members.begin(), members.end(),
                                      [](const auto& unit) { return !data::in_shadow(42, 0, unit.id); });
    REQUIRE(2 * scored != std::ssize(members));
    REQUIRE(one.shadows->offline.at_percent);
    CHECK(one.shadows->offline.at_percent->total == static_cast<std::size_t>(scored));
    CHECK(says(one.left_out, "--shadows 4"));
    for (const char* other : {"run", "split"}) {
        if (other == std::string("split")) finish(small({"audit.shadow=2", "data.split_seed=7"}), scratch / other);
        CHECK(refusal([&] { audit(run, {scratch / other}); }).find("no shadow run of this one") != std::string::npos);
    }
}

TEST_CASE("the auditor answers a path, and nobody else hears of it") {
    scratch_directory scratch;
    finish(small({"audit.canaries=20"}), scratch / "run");
    captured_log log;
    deterministic stage;
    const auto run = std::make_shared<audited_run>(open_audited(scratch / "run", false));
    const auto hub = stage.spawn(make_hub, std::string("test"), show{});
    stage.run();
    const auto auditor = stage.spawn(make_auditor, trusted<std::shared_ptr<audited_run>>(run),
                                     std::vector<std::filesystem::path>{}, log.logger);
    auto request = stage.self->request(auditor, caf::infinite, audit_atom::value);
    CHECK(stage.run() == 1);  // the request; the auditor has sent nothing to anyone but its asker
    std::string path;
    request.receive([&](std::string& answer) { path = answer; }, [](caf::error&) { FAIL("the auditor failed"); });
    CHECK(path == (scratch / "run" / "trusted/audit/audit.html").string());
    const auto read = nlohmann::json::parse(read_file(eval::run_directory{scratch / "run"}.audit_json()));
    CHECK(read.at("bounds").at(0).at("count") == 20);
    // No message that an auditor answers holds more than a path, and nothing public takes a report.
    STATIC_REQUIRE(std::is_same_v<auditor_actor::signatures,
                                  caf::detail::type_list<caf::replies_to<audit_atom>::with<std::string>>>);
}

TEST_CASE("an audit during a run reports until the run is over, and once more of its end") {
    scratch_directory scratch;
    const eval::run_directory where{scratch / "run"};
    finish(small({"audit.canaries=20"}), where.root, 2);
    std::vector<std::int64_t> steps;
    launch_audit(
        where,
        {.during_run = true, .shadows = {}, .on_report = [&] {
             const auto report = nlohmann::json::parse(read_file(where.audit_json()));
             steps.push_back(report.at("step"));
             if (steps.size() > 1) return;
             auto opened = resume_run(where.root);
             bench::run_plain(opened, 4);
             const auto& training = opened.parts.steps->training();
             finish_run(
                 *opened.facts,
                 {actors::ending::done, training.step(), training.lost(), training.adapter(), training.trace(), {}});
         }});
    CHECK(steps == std::vector<std::int64_t>{2, 4});
}

TEST_CASE("an audit that goes with a run reports each snapshot's figures") {
    scratch_directory scratch;
    finish(small({"audit.canaries=20"}), scratch / "run", 2);
    auto run = open_audited(scratch / "run", true);
    read_adapter(run);
    write_audit(run.where, audit(run, {}));
    auto opened = resume_run(scratch / "run");
    bench::run_plain(opened, 4);
    const auto& training = opened.parts.steps->training();
    finish_run(*opened.facts,
               {actors::ending::done, training.step(), training.lost(), training.adapter(), training.trace(), {}});
    const auto last = audited(scratch / "run");
    REQUIRE(last.course.size() == 2);
    CHECK(last.course[0].step == 2);
    CHECK(last.course[1].step == 4);
}
