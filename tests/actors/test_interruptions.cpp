// What kills, damaged files and failing starts leave behind, and what becomes of it.
#include <ATen/ATen.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <caf/all.hpp>
#include <functional>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "actors/failure.hpp"
#include "actors/hub.hpp"
#include "actors/launch.hpp"
#include "actors/supervisor.hpp"
#include "base/directories.hpp"
#include "base/files.hpp"
#include "bench/plain_loop.hpp"
#include "config/config.hpp"
#include "eval/report/certificate.hpp"
#include "run/artifacts/metrics.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/checkpoint.hpp"
#include "run/run_end.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/actors/quiet_hub.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

config::run_config small_static(std::vector<std::string> more = {}) {
    more.emplace_back("method.name=static");
    return small(std::move(more));
}

/// Interrupted after step 7: a checkpoint at 5, releases of 6 and 7 in the log.
void interrupted_run(const std::filesystem::path& directory) {
    auto opened = create_run(small_static(), directory);
    bench::run_plain(opened, 7);
}

std::vector<std::string> names_in(const std::filesystem::path& directory) {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace

namespace {

/// What may become of the run log of an interrupted run whose checkpoint is of step 5; line n is of step n - 1.
struct log_damage {
    std::string name;
    std::string refused;  ///< empty: a resume makes again what is gone
    std::function<void(std::vector<std::string>&)> make;
    std::vector<std::int64_t> lost = {};
};

std::vector<log_damage> log_damages(const std::vector<std::string>& of_another_run) {
    using lines = std::vector<std::string>;
    return {
        {"emptied",
         "lines were taken away; so there is none of steps 1 to 5",
         [](lines& all) { all.clear(); },
         {1, 2, 3, 4, 5}},
        {"cut at a line", "none of steps 3 to 5", [](lines& all) { all.resize(3); }, {3, 4, 5}},
        {"lines removed",
         "none of steps 2 to 3",
         [](lines& all) { all.erase(all.begin() + 2, all.begin() + 4); },
         {2, 3}},
        {"a bit flipped", "metrics.jsonl:3: ", [](lines& all) { all[2][12] ^= 4; }, {2}},
        {"another run's",
         "metrics.jsonl:1: is of another run",
         [&](lines& all) { all = of_another_run; },
         {1, 2, 3, 4, 5}},
        {"a line of another run's",
         "metrics.jsonl:5: is of another run",
         [&](lines& all) { all[4] = of_another_run[4]; },
         {4}},
        {"swapped", "", [](lines& all) { std::swap(all[2], all[4]); }},
        {"doubled", "", [](lines& all) { all.insert(all.begin() + 2, all[4]); }},
        {"without the look before the first step", "", [](lines& all) { all.erase(all.begin()); }},
        {"cut behind the checkpoint", "", [](lines& all) { all.resize(6); }},
        {"a bit flipped behind the checkpoint", "", [](lines& all) { all[7][12] ^= 4; }},
        {"another run's behind the checkpoint", "", [&](lines& all) { all[7] = of_another_run[7]; }},
    };
}

std::vector<std::string> read_file_lines(const std::filesystem::path& file) {
    std::vector<std::string> out;
    std::istringstream in(read_file(file));
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
}

void put_lines(const std::filesystem::path& file, const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    write_file(file, text);
}

/// Resumed although lines are lost: it ends, verifies, and says so of those alone.
void check_accepted(const eval::run_directory& where, const std::vector<std::int64_t>& lost) {
    CHECK(resume_quietly(where.root, {.accept_lost_lines = true}).how == eval::ending::done);
    std::vector<std::int64_t> seen;
    for (const auto& line : eval::read_metrics(where.metrics())) {
        if (line.lost) seen.push_back(line.step);
        CHECK((line.step == 0 || line.lost || line.noise_multiplier > 0));
    }
    CHECK(seen == lost);
    const auto verdict = eval::verify_run(where, std::nullopt).not_checked;
    CHECK(std::any_of(verdict.begin(), verdict.end(), [](const auto& one) { return one.subject == "lost lines"; }));
}

}  // namespace

TEST_CASE("lines of the run log are made again after the checkpoint, and refused by number before it") {
    scratch_directory scratch;
    const auto config = small_static({"noise.insecure_reproducible=true", "privacy.book=none"});
    run_quietly(config, scratch / "whole");
    const auto expected = read_file(eval::run_directory{scratch / "whole"}.metrics());
    const auto cut = [&](const std::string& name, const config::run_config& of) {
        auto opened = create_run(of, scratch / name);
        bench::run_plain(opened, 7);
    };
    cut("cut", config);
    cut("other", small_static({"privacy.book=none"}));  // of the same configuration but for its noise
    const auto of_another_run = read_file_lines(eval::run_directory{scratch / "other"}.metrics());
    for (const auto& one : log_damages(of_another_run)) {
        INFO(one.name);
        const eval::run_directory where{scratch / one.name};
        std::filesystem::copy(scratch / "cut", where.root, std::filesystem::copy_options::recursive);
        auto lines = read_file_lines(where.metrics());
        one.make(lines);
        put_lines(where.metrics(), lines);
        if (one.refused.empty()) {
            CHECK(resume_quietly(where.root).how == eval::ending::done);
            CHECK(read_file(where.metrics()) == expected);
            continue;
        }
        const auto said = refusal([&] { resume_run(where.root); });
        CHECK(said.find(one.refused) != std::string::npos);
        CHECK(said.find("up to the checkpoint's step, 5,") != std::string::npos);
        CHECK(said.find("--accept-lost-lines") != std::string::npos);
        CHECK(read_file_lines(where.metrics()) == lines);  // left as it is, for whoever looks
        check_accepted(where, one.lost);
    }
    // What is no line of text at all.
    const eval::run_directory where{scratch / "cut"};
    const auto whole = read_file(where.metrics());
    std::filesystem::remove(where.metrics());
    CHECK(refusal([&] {
              resume_run(where.root);
          }).find("metrics.jsonl: is missing; so there is none of steps 1 to 5") != std::string::npos);
    write_file(where.metrics(), std::string(whole.size(), '\0'));
    CHECK(refusal([&] { resume_run(where.root); }).find("none of steps 1 to 5") != std::string::npos);
    write_file(where.metrics(), whole.substr(0, whole.find("{\"step\":3") + 30));
    CHECK(refusal([&] { resume_run(where.root); }).find("none of steps 3 to 5") != std::string::npos);
    write_file(where.metrics(), whole);
    CHECK(resume_quietly(where.root).how == eval::ending::done);
    CHECK(read_file(where.metrics()) == expected);
}

TEST_CASE("the price of a step that was looked at is made again where its own line is gone") {
    scratch_directory scratch;
    const auto config = small_static({"noise.insecure_reproducible=true", "eval.publish=none", "train.eval_every=3"});
    run_quietly(config, scratch / "whole");
    const eval::run_directory where{scratch / "cut"};
    {
        auto opened = create_run(config, where.root);
        bench::run_plain(opened, 7);
    }
    auto lines = read_file_lines(where.metrics());
    REQUIRE(lines.at(3).starts_with("{\"step\":3,"));  // the second of that step, with its price
    lines.erase(lines.begin() + 3);
    put_lines(where.metrics(), lines);
    CHECK(resume_quietly(where.root).how == eval::ending::done);
    CHECK(read_file(where.metrics()) == read_file(eval::run_directory{scratch / "whole"}.metrics()));
}

TEST_CASE("what fails while a run is wired reaches whoever waits for it") {
    scratch_directory scratch;
    auto opened = create_run(small_static(), scratch / "run");
    std::filesystem::remove_all(scratch / "run/trusted");
    write_file(scratch / "run/trusted", "no directory");  // no log can be opened in it
    caf::actor_system_config settings;
    settings.set("logger.file-verbosity", caf::atom("quiet"));
    caf::actor_system system(settings);
    const caf::scoped_actor self(system);
    const auto hub = system.spawn(make_hub, std::string("test"), show{});
    const auto running = system.spawn(make_supervisor, opened, hub);
    std::optional<caf::error> failed;
    self->request(running, std::chrono::seconds(60), run_atom::value)
        .receive([](const outcome&) {}, [&](const caf::error& reason) { failed = reason; });
    self->send_exit(running, caf::exit_reason::user_shutdown);
    self->send_exit(hub, caf::exit_reason::user_shutdown);
    REQUIRE(failed);
    CHECK(std::string(to_exception(*failed).what()).find("trusted.log") != std::string::npos);
}

TEST_CASE("what fails when all steps are made reaches whoever waits for it") {
    scratch_directory scratch;
    // Where nobody is looked at, the owner's figures are first written when the evaluator settles.
    const auto open = [&](int records, const std::string& name) {
        return create_run(small_static({"eval.publish=none", "train.eval_records=1",
                                        fmt::format("data.path=synthetic:{}", 100 + records)}),
                          scratch / name);
    };
    const auto nobody = [&](int records) {
        const auto name = std::to_string(records);
        launch([&] { return open(records, name); }, {.name = name});
        return nlohmann::json::parse(read_file(scratch / name / "trusted/held_out.json"))["evaluations"].empty();
    };
    int records = 0;
    while (!nobody(records)) ++records;
    const auto failed = refusal([&] {
        launch(
            [&] {
                auto opened = open(records, "blocked");
                std::filesystem::create_directories(scratch / "blocked/trusted/held_out.json.tmp/in the way");
                return opened;
            },
            {.name = "blocked"});
    });
    CHECK(has(failed, "held_out.json"));
    CHECK(eval::read_state({scratch / "blocked"}) == eval::run_state::unfinished);
}

TEST_CASE("a stop that comes before a run is wired is not forgotten") {
    scratch_directory scratch;
    auto opened = create_run(small_static(), scratch / "run");
    caf::actor_system_config settings;
    settings.set("logger.file-verbosity", caf::atom("quiet"));
    caf::actor_system system(settings);
    const caf::scoped_actor self(system);
    const auto hub = system.spawn(make_hub, std::string("test"), show{});
    const auto running = system.spawn(make_supervisor, opened, hub);
    self->send(running, stop_atom::value);
    std::optional<outcome> ended;
    self->request(running, std::chrono::seconds(60), run_atom::value)
        .receive([&](outcome& value) { ended = value; }, [](const caf::error&) {});
    self->send_exit(running, caf::exit_reason::user_shutdown);
    self->send_exit(hub, caf::exit_reason::user_shutdown);
    REQUIRE(ended);
    CHECK(ended->how == actors::ending::interrupted);
    CHECK(ended->steps_done < 12);
}

TEST_CASE("an evaluation that was stopped is made by the resume, in its place of the run log") {
    scratch_directory scratch;
    const eval::run_directory where{scratch / "run"};
    auto config = small_static();
    config.eval.publish = publication::raw;
    auto opened = create_run(config, where.root);
    bench::run_plain(opened, 7);
    const auto& seal = opened.facts->seal;
    auto saved = read_checkpoint(where.checkpoint(), seal);
    saved.evaluating = {3, opened.facts->model.initial_adapter};
    write_checkpoint(where.checkpoint(), saved, seal);
    REQUIRE_FALSE(eval::read_metrics(where.metrics()).at(3).eval_perplexity);
    opened = {};
    CHECK(resume_quietly(where.root).how == eval::ending::done);
    const auto lines = eval::read_metrics(where.metrics());
    REQUIRE(lines.size() == 13);
    for (const auto& line : lines) {
        CAPTURE(line.step);
        CHECK(line.eval_perplexity.has_value() == (line.step == 3 || line.step % 5 == 0 || line.step == 12));
        CHECK((line.step == 0 || line.noise_multiplier > 0));
    }
    CHECK(*lines[3].eval_perplexity == Approx(*lines[0].eval_perplexity));  // of the same adapter
}

TEST_CASE("a run that is stopped while its last adapter is evaluated is not done, and a resume evaluates it") {
    scratch_directory scratch;
    const eval::run_directory where{scratch / "run"};
    auto opened = create_run(small_static({"train.micro_batch=1", "train.eval_records=40"}), where.root);
    caf::actor_system_config settings;
    settings.set("logger.file-verbosity", caf::atom("quiet"));
    caf::actor_system system(settings);
    const caf::scoped_actor self(system);
    std::set<std::int64_t> evaluated;
    std::optional<supervisor_actor> running;
    std::promise<void> wired;
    const auto ready = wired.get_future().share();
    const auto hub = system.spawn([&](hub_actor::pointer it) {
        return make_quiet_hub({.progress =
                                   [&, it](std::int64_t step) {
                                       ready.wait();
                                       if (step == 12)
                                           it->send(*running, stop_atom::value);  // the last evaluation begins now
                                   },
                               .evaluated = [&](std::int64_t step, const eval::scores&) { evaluated.insert(step); }});
    });
    running = system.spawn(make_supervisor, opened, hub);
    wired.set_value();
    std::optional<outcome> ended;
    self->request(*running, std::chrono::seconds(60), run_atom::value)
        .receive([&](outcome& value) { ended = value; }, [](const caf::error&) {});
    self->send_exit(*running, caf::exit_reason::user_shutdown);
    self->send_exit(hub, caf::exit_reason::user_shutdown);
    self->wait_for(*running, hub);
    REQUIRE(ended);
    CHECK(ended->steps_done == 12);
    // Whether the stop came in time is the machine's affair; what is said of it is not.
    CHECK((ended->how == actors::ending::done) == evaluated.contains(12));
    if (evaluated.contains(12)) {
        WARN("the last evaluation was over before the stop came");
        return;
    }
    CHECK(ended->how == actors::ending::interrupted);
    opened = {};
    CHECK(resume_quietly(where.root).how == eval::ending::done);
    CHECK(eval::read_metrics(where.metrics()).back().eval_perplexity);
}

TEST_CASE("what a kill at a run's end left undone is done by the next command, and nothing to a run under way") {
    scratch_directory scratch;
    const eval::run_directory cut{scratch / "cut"}, underway{scratch / "underway"};
    interrupted_run(underway.root);
    interrupted_run(cut.root);
    const auto left = names_in(underway.trusted_side());
    std::map<std::string, std::string> secrets;
    for (const auto& name : {"releases.log", "checkpoint.safetensors"})
        secrets[name] = read_file(cut.trusted_side() / name);
    CHECK(resume_quietly(cut.root).how == eval::ending::done);
    CHECK(eval::read_state(cut) == eval::run_state::over);
    // Back to where the key had just been erased.
    const auto certificate = read_file(cut.certificate());
    std::filesystem::rename(cut.certificate(), cut.waiting_certificate());
    for (const auto& [name, bytes] : secrets) write_file(cut.trusted_side() / name, bytes);
    write_file(cut.trusted_side() / "checkpoint.safetensors.tmp", "half");
    CHECK(eval::read_state(cut) == eval::run_state::ending);
    SECTION("by a resume, which is refused") {
        CHECK(refusal([&] { resume_run(cut.root); }).find("has finished") != std::string::npos);
    }
    SECTION("by a resume, where the certificate was published already, and waits all the same") {
        write_file(cut.certificate(), certificate);
        CHECK(eval::read_state(cut) == eval::run_state::ending);
        CHECK(refusal([&] { resume_run(cut.root); }).find("has finished") != std::string::npos);
    }
    SECTION("by cleaning up") {
        const auto done = clean(scratch.path());
        CHECK(done.erased.size() == 3);
        CHECK(done.ended == std::vector{cut.root});
        CHECK(done.unfinished == std::vector{underway.root});
    }
    SECTION("by an audit that saw it end") {
        await_end(cut);
    }
    CHECK(eval::read_state(cut) == eval::run_state::over);
    CHECK(read_file(cut.certificate()) == certificate);
    CHECK(names_in(cut.trusted_side()) ==
          std::vector<std::string>{"held_out.json", "membership.json", "places", "trusted.log"});
    CHECK(clean(underway.root).erased.empty());
    CHECK(names_in(underway.trusted_side()) == left);
    // Without its key nobody goes on with it, and it is not over.
    const auto key = read_file(underway.key());
    std::filesystem::remove(underway.key());
    CHECK(eval::read_state(underway) == eval::run_state::lost);
    CHECK(refusal([&] { resume_run(underway.root); }).find("has lost its key") != std::string::npos);
    write_file(underway.key(), key, 0600);
    CHECK(resume_quietly(underway.root).how == eval::ending::done);
}

TEST_CASE("a start that was killed is removed by the next, one under way is not") {
    scratch_directory scratch;
    std::filesystem::create_directories(scratch / "run.partial-abc123/trusted");
    write_file(scratch / "run.partial-abc123/trusted/run.key", "secret");
    std::filesystem::create_directories(scratch / "run.partial-def456/trusted");
    const int other_process = ::open((scratch / "run.partial-def456").c_str(), O_RDONLY | O_DIRECTORY);
    REQUIRE(::flock(other_process, LOCK_EX | LOCK_NB) == 0);
    CHECK(clean(scratch / ".").erased.size() == 1);
    CHECK(names_in(scratch / ".") == std::vector<std::string>{"run.partial-def456"});
    ::close(other_process);
    interrupted_run(scratch / "run");
    CHECK(names_in(scratch / ".") == std::vector<std::string>{"run"});
    CHECK_FALSE(refusal([&] { clean(scratch / "nothing"); }).empty());
}

TEST_CASE("a nascent directory is whole or absent, and nobody who cleans up takes it away") {
    scratch_directory scratch;
    const auto place = scratch / "made";
    {
        staged_directory made(place);
        CHECK(staged_directory::is_one(made.path()));
        CHECK_FALSE(staged_directory::is_one(place));
        CHECK(staged_directory::remove_abandoned_of(place).empty());
        write_file(made.path() / "file", "x");
        CHECK_FALSE(std::filesystem::exists(place));
        made.settle();
        CHECK(read_file(place / "file") == "x");
    }
    { staged_directory given_up(scratch / "other"); }
    CHECK(names_in(scratch / ".") == std::vector<std::string>{"made"});
    {  // without a descriptor for its lock it is refused, not tried for ever
        rlimit before{};
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
        const int next = ::dup(STDIN_FILENO);
        ::close(next);
        const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &none);
        const auto line = refusal([&] { staged_directory never(scratch / "never"); });
        ::setrlimit(RLIMIT_NOFILE, &before);
        CHECK(line.find("never") != std::string::npos);
        CHECK(names_in(scratch / ".") == std::vector<std::string>{"made"});
    }
    staged_directory late(place);
    CHECK(refusal([&] { late.settle(); }).find("can't be put in place") != std::string::npos);
}
