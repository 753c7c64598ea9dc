// Cells in child processes, with a shell script in the place of `rldp run`.
#include "eval/experiments/run.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <thread>

#include "eval/experiments/experiment.hpp"
#include "eval/experiments/progress.hpp"
#include "run/artifacts/run_directory.hpp"
#include "tests/catch.hpp"
#include "tests/eval/experiments/fixtures.hpp"

using namespace rldp::eval;

namespace {

/// A grid's directory beside the script and the files that it copies.
class bench {
  public:
    bench() {
        std::filesystem::copy_file("tests/eval/experiments/fake_run.sh", settings.program);
        auto summary = sample_summary();
        rldp::write_file(scratch / "summary.json", to_json(summary));
        summary.how = ending::budget_exhausted;
        rldp::write_file(scratch / "exhausted.json", to_json(summary));
        summary.how = ending::interrupted;
        rldp::write_file(scratch / "interrupted.json", to_json(summary));
        rldp::write_file(
            scratch / "ledger.jsonl",
            R"({"delta":1e-5,"guaranteed_epsilon":2,"insecure_reproducible":false,"semantics":"sound","steps":40})"
            "\n");
        rldp::write_file(scratch / "signal", "INT");
        rldp::write_file(scratch / "audit.json", R"({"membership": {"members": {"mean_log_probability": -0.5,
            "mean_perplexity": 1.7}, "attack": {"auc": 0.52}}, "extraction": [{"valid": 7, "found": 0, "jaccard":
            [{"mean": 0.1}, {"mean": 0.2}, {"mean": 0.3}, {"mean": 0.4}]}], "course": [{"mean_exposure": 1.4}],
            "audited_epsilon": null})");
    }

    /// Whether no signal came; how each cell ended is in `ends`.
    bool run(const std::vector<std::string>& ids) {
        std::vector<cell> cells;
        for (const auto& id : ids) cells.push_back({id, {}, {"seed=1", "note=\"a b\""}});
        ends.clear();
        return run_cells(cells, settings,
                         {[this](const cell& which, cell_state how, bool kept) {
                              ends[which.id] = name_of(how) + (kept ? " kept" : "");
                          },
                          [](const auto&, std::size_t) {}});
    }

    std::string calls() const {
        const auto path = scratch / "calls";
        return std::filesystem::exists(path) ? rldp::read_file(path) : "";
    }
    cell_result result(const std::string& id) const { return read_result(files(id)); }
    cell_secrets secrets(const std::string& id) const { return read_secrets(files(id)); }
    cell_files files(const std::string& id) const { return {settings.out, id}; }

    /// "one done, two waiting"; what whoever watches may know.
    std::string progress() const {
        std::string out;
        const auto all = nlohmann::json::parse(rldp::read_file(settings.out / "progress.json"));
        for (const auto& cell : all["cells"])
            out += (out.empty() ? "" : ", ") + cell["id"].get<std::string>() + " " + cell["state"].get<std::string>();
        return out;
    }

    scratch_directory scratch;
    run_settings settings{.config = "base.json",
                          .set = {"train.lr=1"},
                          .out = scratch.path() / "out",
                          .jobs = 1,
                          .program = scratch.path() / "fake_run.sh"};
    std::map<std::string, std::string> ends;
};

bool no_child_left() {
    return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

}  // namespace

TEST_CASE("cells run one after the other, and finished ones are kept") {
    bench b;
    REQUIRE(b.run({"one", "two"}));
    CHECK(b.calls() == "new one\nnew two\n");
    CHECK(b.ends == std::map<std::string, std::string>{{"one", "done"}, {"two", "done"}});
    CHECK(rldp::read_file(b.scratch / "overrides").find("train.lr=1\nseed=1\nnote=\"a b\"\n") == 0);
    CHECK(has(rldp::read_file(b.files("one").output()), "\"status\""));
    CHECK_FALSE(std::filesystem::exists(b.files("one").partial_output()));
    // what children say and how long they take is behind a door that only the owner opens
    struct stat door {};
    REQUIRE(::stat((b.settings.out / "trusted").c_str(), &door) == 0);
    CHECK((door.st_mode & 0777) == 0700);
    CHECK(b.progress() == "one done, two done");
    for (const auto& entry : std::filesystem::directory_iterator(b.settings.out / "cells")) CHECK(entry.is_directory());
    CHECK_FALSE(std::filesystem::exists(grid_directory{b.settings.out}.corpora()));  // all have ended
    CHECK(b.secrets("one").history.starts == 1);
    CHECK(b.secrets("one").history.seconds > 0);
    CHECK(b.result("one").committed->epsilon_guaranteed == 2);

    REQUIRE(b.run({"one", "two", "three"}));
    CHECK(b.calls() == "new one\nnew two\nnew three\n");
    CHECK(b.ends.at("one") == "done kept");
    CHECK(no_child_left());
}

TEST_CASE("a run out of budget is over, and kept") {
    bench b;
    REQUIRE(b.run({"exhausted"}));
    CHECK(b.ends.at("exhausted") == "done");
    REQUIRE(b.run({"exhausted"}));
    CHECK(b.calls() == "new exhausted\n");
}

TEST_CASE("a cell that fails is marked with its log's last lines, and the others go on") {
    bench b;
    REQUIRE(b.run({"refused", "killed", "liar", "one"}));
    CHECK(b.ends == std::map<std::string, std::string>{
                        {"refused", "failed"}, {"killed", "failed"}, {"liar", "failed"}, {"one", "done"}});
    CHECK(b.progress() == "refused failed, killed failed, liar failed, one done");
    CHECK(b.secrets("refused").failure == "exit status 2\nfirst line\nout of luck");
    says(b.secrets("killed").failure, "ended by signal 9");
    CHECK(b.secrets("liar").failure == "exit status 0");
    CHECK(b.result("refused").state == cell_state::failed);
    CHECK(no_child_left());
}

TEST_CASE("what failed is tried again: anew before its ledger, else resumed") {
    bench b;
    REQUIRE(b.run({"refused", "breaks"}));
    CHECK(b.ends.at("breaks") == "failed");
    REQUIRE(b.run({"refused", "breaks"}));
    CHECK(b.calls() == "new refused\nnew breaks\nnew refused\nresume breaks\n");
    CHECK(b.ends.at("breaks") == "done");
    CHECK(b.secrets("breaks").history.starts == 2);
    CHECK_FALSE(b.secrets("breaks").history.failure.has_value());
    // the log of a resumed cell goes on
    CHECK(has(rldp::read_file(b.files("breaks").log()), "the disk is full"));
}

TEST_CASE("a cell that was cut while it ended is unfinished, and goes on") {
    bench b;
    const auto id = GENERATE("cut-before", "cut-within");  // before its secrets were erased, and within
    REQUIRE(b.run({id}));
    CHECK(b.ends.at(id) == "failed");  // it was killed
    CHECK_FALSE(b.result(id).summary.has_value());
    rldp::remove_file(b.files(id).history());  // as where the parent was killed, too
    CHECK(b.result(id).state == cell_state::unfinished);
    rldp::write_file(b.files(id).partial_output(), "half");
    REQUIRE(b.run({id}));
    CHECK(b.calls() == fmt::format("new {0}\nresume {0}\n", id));
    CHECK(b.result(id).state == cell_state::done);
    CHECK(read_state(b.files(id).run()) == run_state::over);
    rldp::write_file(b.files(id).partial_output(), "a killed parent's");
    REQUIRE(b.run({id}));
    CHECK(b.ends.at(id) == "done kept");
    CHECK_FALSE(std::filesystem::exists(b.files(id).partial_output()));
}

TEST_CASE("a directory without a ledger is cleared, one with a ledger and no key is left alone and marked") {
    bench b;
    const auto files = b.files("one");
    rldp::create_private_directory(files.run().public_side());
    rldp::create_private_directory(files.out / "cells" / "one.partial-abcdef");
    rldp::create_private_directory(files.out / "cells" / "other.partial-abcdef");
    REQUIRE(b.run({"one"}));
    CHECK(b.ends.at("one") == "done");
    CHECK_FALSE(std::filesystem::exists(files.out / "cells" / "one.partial-abcdef"));
    CHECK(std::filesystem::exists(files.out / "cells" / "other.partial-abcdef"));

    std::filesystem::remove(files.run().certificate());
    REQUIRE(b.run({"one", "two"}));
    CHECK(b.ends == std::map<std::string, std::string>{{"one", "failed kept"}, {"two", "done"}});
    CHECK(b.calls() == "new one\nnew two\n");
    CHECK(std::filesystem::exists(files.run().ledger()));
    says(b.secrets("one").failure, "holds a ledger, so budget was spent");
}

TEST_CASE("a signal is passed on, no more cells start, and the cell is resumed") {
    bench b;
    rldp::write_file(b.scratch / "signal", GENERATE("INT", "TERM"));
    CHECK_FALSE(b.run({"one", "waits", "two"}));
    CHECK(b.calls() == "new one\nnew waits\n");
    CHECK(b.ends == std::map<std::string, std::string>{{"one", "done"}, {"waits", "unfinished"}});
    CHECK(b.result("waits").state == cell_state::unfinished);
    CHECK(b.result("two").state == cell_state::not_run);
    CHECK(b.progress() == "one done, waits interrupted, two waiting");
    CHECK(no_child_left());
    const auto corpora = grid_directory{b.settings.out}.corpora();
    CHECK(rldp::read_file(corpora / "used") == "one\nwaits\n");
    const auto before = b.secrets("waits").history.seconds;

    REQUIRE(b.run({"one", "waits", "two"}));
    CHECK(b.calls() == "new one\nnew waits\nresume waits\nnew two\n");
    CHECK_FALSE(std::filesystem::exists(corpora));
    CHECK(b.result("waits").state == cell_state::done);
    CHECK(b.secrets("waits").history.seconds > before);
}

TEST_CASE("jobs run side by side and share the cores") {
    bench b;
    b.settings.jobs = 2;
    ::mkfifo((b.scratch / "fifo").c_str(), 0600);
    REQUIRE(b.run({"meets-a", "meets-b", "three"}));
    CHECK(b.ends.size() == 3);
    CHECK(b.ends.at("meets-b") == "done");
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    CHECK(rldp::read_file(b.scratch / "threads") == std::to_string(std::max(1, cores / 2)) + "\n");
}

TEST_CASE("the user's own number of threads holds for one job") {
    bench b;
    ::setenv("OMP_NUM_THREADS", "7", 1);
    REQUIRE(b.run({"one"}));
    CHECK(rldp::read_file(b.scratch / "threads") == "7\n");
    b.settings.jobs = 2;
    REQUIRE(b.run({"two"}));
    CHECK(rldp::read_file(b.scratch / "threads") != "7\n");
    ::unsetenv("OMP_NUM_THREADS");
}

TEST_CASE("a program that is not there fails its cell") {
    bench b;
    b.settings.program = b.scratch / "nothing";
    REQUIRE(b.run({"one"}));
    CHECK(b.ends.at("one") == "failed");
    says(b.secrets("one").failure, "can't start");
}

TEST_CASE("how far a cell has come is read off its ledger and metrics") {
    bench b;
    const auto files = b.files("one");
    step_counter steps(files);
    CHECK(steps.fraction() == 0);
    std::filesystem::create_directories(files.run().public_side());
    std::filesystem::copy_file(b.scratch / "ledger.jsonl", files.run().ledger());
    CHECK(steps.fraction() == 0);
    rldp::write_file(files.run().metrics(), "{\"step\":9}\n{\"step\":10}\n{\"step\":8,\"eval_perplexity\":2}\n{\"ste");
    CHECK(steps.fraction() == Approx(0.25));
}

TEST_CASE("progress in words") {
    grid_tally tally(5);
    tally.ended(cell_state::done, true);
    CHECK_FALSE(tally.left(10, {}, 4).has_value());
    tally.ended(cell_state::failed, false);
    // one and a half cells in 30 s, two and a half to go
    CHECK(*tally.left(30, {{"x", 0.5}}, 2) == Approx(50));
    CHECK(progress_line(tally, {{"static-eps2-seed0", 0.5}}, 50, 200) ==
          "2/5 cells, 1 failed · about 50 s left · static-eps2-seed0 50 %");
    CHECK(progress_line(tally, {{"x", 0.5}}, {}, 21) == "2/5 cells, 1 failed ·");
    cell_result result;
    result.state = cell_state::done;
    result.summary = sample_summary();
    CHECK(ended_line(tally, {"/grid", "a"}, cell_state::done, false, result) == "[2/5] a: done, perplexity 5");
    CHECK(ended_line(tally, {"/grid", "a"}, cell_state::failed, false, {}) ==
          "[2/5] a: failed, see /grid/trusted/cells/a.log");
}

TEST_CASE("with --audit every cell that is done is attacked once, also one that had ended before") {
    bench b;
    REQUIRE(b.run({"one"}));
    CHECK(b.secrets("one").attacks.empty());
    b.settings.audit = true;
    REQUIRE(b.run({"one", "two"}));
    CHECK(b.calls() == "new one\naudit one\nnew two\naudit two\n");
    for (const char* id : {"one", "two"}) {
        CHECK(b.ends[id] == "done");
        const auto found = b.secrets(id);
        CHECK(b.result(id).state == cell_state::done);
        CHECK(found.attacks.at("membership AUC") == 0.52);
        CHECK(found.attacks.at("Jaccard 3") == 0.3);
        CHECK(found.attacks.count("ε at least") == 0);
        CHECK(nlohmann::json::parse(rldp::read_file(b.files(id).output())).contains("status"));  // still the run's own
        CHECK_FALSE(std::filesystem::exists(b.files(id).partial_output()));
    }
    REQUIRE(b.run({"one", "two"}));
    CHECK(b.ends["one"] == "done kept");
}

TEST_CASE("trials are never attacked") {
    bench b;
    b.settings.audit = true;
    experiment of_two_stages;
    for (const bool trial : {true, false}) {
        cell one{trial ? "trial" : "test", {}, {}};
        one.trial = trial;
        of_two_stages.stages.push_back([one](const auto&) { return std::vector{one}; });
    }
    experiment_settings settings{b.settings};
    settings.quiet = true;
    CHECK(run_experiment(of_two_stages, settings).finished);
    CHECK(b.calls() == "new trial\nnew test\naudit test\n");
}

TEST_CASE("an audit that fails is said, and is tried again, the run is not") {
    bench b;
    b.settings.audit = true;
    REQUIRE(b.run({"unaudited"}));
    CHECK(b.ends["unaudited"] == "failed");
    CHECK(b.progress() == "unaudited done");
    CHECK(b.result("unaudited").state == cell_state::done);  // an attack's end is the owner's matter
    CHECK(has(b.secrets("unaudited").failure, "no memory"));
    REQUIRE(b.run({"unaudited"}));
    CHECK(b.calls() == "new unaudited\naudit unaudited\naudit unaudited\n");
}

TEST_CASE("an audit file that is none is refused with its path") {
    bench b;
    b.settings.audit = true;
    rldp::write_file(b.scratch / "audit.json", "{}");
    REQUIRE(b.run({"one"}));
    says(refusal([&] { b.secrets("one"); }), "audit.json");
}
