#include "monitor/watch/catalog.hpp"

#include <fstream>

#include "base/files.hpp"
#include "tests/catch.hpp"
#include "tests/monitor/watch/made_up_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::monitor;
using namespace rldp::testing;
namespace fs = std::filesystem;

namespace {

void add_line(const fs::path& run, std::int64_t step) {
    std::ofstream(run / "public/metrics.jsonl", std::ios::app)
        << rldp::eval::with_checksum(rldp::eval::to_json(make_line(step))) << '\n';
}

const catalog::clock::time_point start = catalog::clock::now();

}  // namespace

TEST_CASE("runs are found below what is named, each with an id that an address can hold") {
    const scratch_directory scratch;
    for (const char* name : {"grid/cells/a", "grid/cells/b", "single", "with space/é"}) make_run(scratch / name);
    fs::create_directories(scratch / "empty/deep");
    catalog subject({scratch / ""});
    subject.refresh(start);
    std::vector<std::string> ids;
    for (const auto& one : subject.runs()) ids.push_back(one->view().id);
    CHECK(ids == std::vector<std::string>{"grid~cells~a", "grid~cells~b", "single", "with_space~__"});
    CHECK(subject.find("single"));
    CHECK_FALSE(subject.find("cells"));
    CHECK(catalog({scratch / "empty"}).runs().empty());
    CHECK(has(refusal([&] { catalog({scratch / "nowhere"}); }), "is no directory"));
    // A run itself, named as one.
    catalog one({scratch / "single"});
    one.refresh(start);
    REQUIRE(one.runs().size() == 1);
    CHECK(one.runs()[0]->view().name == "single");
}

TEST_CASE("runs of one name below two folders of one name have names of their own, whichever is named first") {
    const scratch_directory scratch;
    for (const char* name : {"a/runs/x", "b/runs/x", "c/other/x", "b/runs/grid/cells/y"}) make_run(scratch / name);
    rldp::write_file(scratch / "b/runs/grid/grid.json", R"({"kind": "sweep"})");
    const auto names = [&](const std::vector<fs::path>& roots) {
        catalog subject(roots);
        subject.refresh(start);
        std::vector<std::string> out;
        for (const auto& one : subject.runs()) out.push_back(one->view().name);
        for (const auto& one : subject.grids()) out.push_back(one->view().name);
        return out;
    };
    const std::vector<std::string> both = {"a/runs/x", "b/runs/grid/cells/y", "b/runs/x", "b/runs/grid"};
    CHECK(names({scratch / "a/runs", scratch / "b/runs"}) == both);
    CHECK(names({scratch / "b/runs/", scratch / "a/./runs"}) == both);
    CHECK(names({scratch / "a/runs", scratch / "c/other"}) == std::vector<std::string>{"other/x", "runs/x"});
    CHECK(names({scratch / "a/runs", scratch / "a/runs"}) == std::vector<std::string>{"runs/x"});
    // A run that is called as another root's run below it is.
    for (const char* name : {"p/a/x", "q/a/x", "z/x"}) make_run(scratch / name);
    CHECK(names({scratch / "p/a", scratch / "q/a/x", scratch / "z/x"}) ==
          std::vector<std::string>{"a/x", "a/x_2", "z/x"});
}

TEST_CASE("links are not followed, and of a run nothing but its public side is opened") {
    const scratch_directory scratch, elsewhere;
    make_run(scratch / "runs/a");
    make_run(elsewhere / "b");
    fs::create_directory_symlink(elsewhere / "", scratch / "runs/out");
    fs::create_directory_symlink(scratch / "runs", scratch / "runs/round");
    make_run(scratch / "runs/a/trusted/hidden");
    catalog subject({scratch / "runs"});
    subject.refresh(start);
    REQUIRE(subject.runs().size() == 1);
    // A summary that is a link to a secret is none.
    rldp::write_file(elsewhere / "secret", R"({"status":"done"})");
    fs::create_symlink(elsewhere / "secret", scratch / "runs/a/public/summary.json");
    subject.refresh(start);
    CHECK(subject.runs()[0]->view().state == "silent");
    CHECK(subject.runs()[0]->view().problem.empty());
    CHECK(subject.runs()[0]->view().data == "notes.jsonl");  // where it lies is nobody's business
    CHECK(subject.runs()[0]->view().title == "the pilot");
    CHECK(subject.runs()[0]->view().tags == std::vector<std::string>{"ward-3"});
    CHECK(subject.runs()[0]->view().notes == "a first try");
}

TEST_CASE("a run is followed as it grows, resumes and ends") {
    const scratch_directory scratch;
    const auto run = scratch / "a";
    make_run(run, {.steps = 5, .planned = 10});
    catalog subject({scratch / ""});
    CHECK(subject.refresh(start));
    CHECK_FALSE(subject.refresh(start));
    auto& one = *subject.runs()[0];
    CHECK(one.view().step == 5);
    CHECK(one.view().value(rldp::eval::quantity::perplexity) == 75);
    CHECK(one.view().perplexity_before == 80);
    REQUIRE(one.view().contract);
    CHECK(one.view().contract->any);
    CHECK(one.view().contract->epsilon_guaranteed == 2);
    CHECK(one.view().ledger_head.size() == 64);
    CHECK(subject.past(one).of(rldp::eval::quantity::loss).points().size() == 5);
    add_line(run, 6);
    CHECK(subject.refresh(start));
    CHECK(one.view().step == 6);
    CHECK(subject.past(one).last_step() == 6);
    // Half a line is none yet.
    const auto whole = rldp::eval::with_checksum(rldp::eval::to_json(make_line(7)));
    std::ofstream(run / "public/metrics.jsonl", std::ios::app) << whole.substr(0, 20);
    subject.refresh(start);
    CHECK(one.view().step == 6);
    CHECK(one.view().problem.empty());
    std::ofstream(run / "public/metrics.jsonl", std::ios::app) << whole.substr(20) << '\n';
    subject.refresh(start);
    CHECK(subject.past(one).last_step() == 7);
    // A resume begins the file anew, from an older step.
    fs::remove_all(run);
    make_run(run, {.steps = 3, .planned = 10});
    subject.refresh(start);
    CHECK(subject.past(one).last_step() == 3);
    fs::remove_all(run);
    make_run(run, {.steps = 10, .planned = 10, .over = true});
    subject.refresh(start);
    CHECK(one.view().state == "done");
    CHECK(one.view().controller.size() == 1);
    CHECK(is_over(one.view()));
    // Its certificate comes last: without it the run was cut while it ended.
    fs::remove(run / "public/certificate.json");
    subject.refresh(start);
    CHECK(one.view().state == "silent");
    CHECK_FALSE(is_over(one.view()));
}

TEST_CASE("a contract is shown whose deck has a card for each of very many steps") {
    const scratch_directory scratch;
    make_run(scratch / "a", {.steps = 1, .planned = 30'000, .cards = 30'000});
    CHECK(fs::file_size(scratch / "a/public/ledger.jsonl") > 1U << 20U);
    catalog subject({scratch / ""});
    subject.refresh(start);
    REQUIRE(subject.runs()[0]->view().contract);
    const auto deck = subject.runs()[0]->view().contract->deck;
    REQUIRE(deck.size() == 1);  // a row for each noise multiplier, whose steps are the plan's
    CHECK(deck[0].steps == 30'000);
}

TEST_CASE("a damaged run is shown as such, and the others are unharmed") {
    const scratch_directory scratch;
    for (const char* name : {"a", "b", "c", "d"}) make_run(scratch / name, {.steps = 10, .planned = 10, .over = true});
    rldp::write_file(scratch / "b/public/ledger.jsonl", "{}\n");
    rldp::write_file(scratch / "c/public/summary.json", R"({"status":"flying"})");
    std::ofstream(scratch / "d/public/metrics.jsonl", std::ios::app) << "{\"step\":11}\n";
    catalog subject({scratch / ""});
    subject.refresh(start);
    REQUIRE(subject.runs().size() == 4);
    CHECK(subject.runs()[0]->view().state == "done");
    CHECK(has(subject.runs()[1]->view().problem, "ledger"));
    CHECK(has(subject.runs()[2]->view().problem, "summary.json"));
    CHECK(has(subject.runs()[3]->view().problem, "metrics.jsonl"));
    for (const std::size_t i : {1U, 2U, 3U}) CHECK(subject.runs()[i]->view().state == "damaged");
}

TEST_CASE("what was looked at long ago is forgotten, and read again when asked for") {
    const scratch_directory scratch;
    for (int i = 0; i < 4; ++i) make_run(scratch / std::to_string(i));
    catalog_limits limits;
    limits.remembered = 2;
    catalog subject({scratch / ""}, limits);
    subject.refresh(start);
    for (const auto& one : subject.runs()) subject.past(*one);
    CHECK_FALSE(subject.runs()[0]->remembers());
    CHECK_FALSE(subject.runs()[1]->remembers());
    CHECK(subject.runs()[3]->remembers());
    CHECK(subject.past(*subject.runs()[0]).last_step() == 5);
    CHECK(subject.runs()[3]->remembers());
    CHECK_FALSE(subject.runs()[2]->remembers());
}

// Files tell no times: whoever appends holds a lock.
TEST_CASE("an unfinished run goes on while a process writes it, and is silent without") {
    const scratch_directory scratch;
    make_run(scratch / "a");
    catalog subject({scratch / "a"});
    const auto state = [&] {
        subject.refresh();
        return subject.runs().front()->view().state;
    };
    CHECK(state() == "silent");
    {
        const rldp::append_file writer(scratch / "a/public/ledger.jsonl");
        CHECK(state() == "running");
    }
    CHECK(state() == "silent");
}

TEST_CASE("the deck that is left is what was planned without the steps made, each counted once") {
    history subject;
    for (const std::int64_t step : {0, 1, 2, 3, 3, 4}) {
        auto line = make_line(step);
        line.noise_multiplier = step < 3 ? 0.5 : 0.75;
        subject.add(line);
    }
    CHECK(subject.steps_at(0.5) == 2);
    CHECK(subject.steps_at(0.75) == 2);
    CHECK(subject.steps_at(1) == 0);
}

TEST_CASE("a run that is being made is none yet, and one that was removed is none any more") {
    const scratch_directory scratch;
    make_run(scratch / "all/a");
    make_run(scratch / "all/b.partial-xYz123");
    catalog subject({scratch / "all"}, {.search = std::chrono::milliseconds(0)});
    subject.refresh();
    REQUIRE(subject.runs().size() == 1);
    CHECK_FALSE(subject.past(*subject.runs().front()).empty());
    std::filesystem::rename(scratch / "all/b.partial-xYz123", scratch / "all/b");
    std::filesystem::remove_all(scratch / "all/a");
    const auto before = subject.version();
    subject.refresh();
    CHECK(subject.version() > before);
    REQUIRE(subject.runs().size() == 1);
    CHECK(subject.runs().front()->view().id == "b");
    make_run(scratch / "all/a");  // it may come again
    subject.refresh();
    CHECK(subject.runs().size() == 2);
    CHECK(subject.runs().front()->view().state == "silent");
}
