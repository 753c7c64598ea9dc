// `rldp tune`, ended in the middle of a trial by SIGTERM or SIGKILL and gone on with.
#include <chrono>
#include <csignal>
#include <map>
#include <thread>

#include "base/files.hpp"
#include "privacy/spending/account.hpp"
#include "privacy/spending/book.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/artifacts/run_directory.hpp"
#include "tests/catch.hpp"
#include "tests/kill/child.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t steps_of_runs = 60;

/// A tuning of the demo in several bands, and all that it ever charged.
class watched_tuning {
  public:
    explicit watched_tuning(const fs::path& scratch)
        : out_(scratch / "tuned"), book_(scratch / "book"), output_(scratch / "output") {}

    std::vector<std::string> command(bool resumed) const {
        std::vector<std::string> out = {"tune",  "config/demo.json", "--grid", "train.lr=0.01,0.02", "--quiet",
                                        "--out", out_.string()};
        for (const auto& set :
             {std::string("method.name=static"), std::string("noise.bands=3"), std::string("data.path=synthetic:300"),
              std::string("data.max_tokens=24"), "train.steps=" + std::to_string(steps_of_runs),
              std::string("train.expected_batch_size=8"), std::string("train.eval_records=20"),
              std::string("eval.looks=1"), "privacy.book=" + book_.string()}) {
            out.emplace_back("--set");
            out.push_back(set);
        }
        if (resumed) out.emplace_back("--resume");
        return out;
    }
    fs::path ledger(const std::string& run) const { return eval::run_directory{out_ / "cells" / run}.ledger(); }

    /// Ends once the run has charged so many steps; what it had charged stays in the ledger, whatever follows.
    void end_in(const std::string& run, std::int64_t charges, int signal, bool resumed) {
        child process(command(resumed), output_);
        while (count(run) < charges) {
            INFO(read_file(output_));
            REQUIRE_FALSE(process.ends_within(std::chrono::milliseconds(2)));
        }
        if (signal == SIGKILL)
            process.kill();
        else
            ::kill(process.id(), signal);
        INFO(read_file(output_));
        CHECK(process.wait() == (signal == SIGKILL ? 128 + SIGKILL : 130));
        // Its child is told to save and end.
        while (is_being_written(ledger(run))) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        look();
        CHECK(count(run) < steps_of_runs);
    }

    void finish() {
        child process(command(true), output_);
        const int status = process.wait();
        INFO(read_file(output_));
        REQUIRE(status == 0);
        look();
    }

    /// Ledgers and account only grow.
    void look() {
        for (const char* run : {"trial-1", "trial-2", "final"})
            if (fs::exists(ledger(run))) grows(ledger(run));
        grows(privacy::locate_account(out_));
    }

    std::int64_t count(const std::string& run) const {
        return fs::exists(ledger(run)) ? std::ssize(privacy::read_ledger(ledger(run)).charges) : 0;
    }
    privacy::run_account account() const { return privacy::read_account(privacy::locate_account(out_)); }
    privacy::budget_book book() const { return privacy::read_book(book_); }
    const fs::path& out() const { return out_; }

  private:
    void grows(const fs::path& file) {
        auto text = read_file(file);
        text.resize(text.rfind('\n') + 1);  // a torn line is no charge yet, and one that takes its place may follow
        CAPTURE(file.string());
        CHECK(text.starts_with(known_[file]));
        known_[file] = std::move(text);
    }

    fs::path out_, book_, output_;
    std::map<fs::path, std::string> known_;
};

}  // namespace

TEST_CASE("a tuning that is ended in a trial goes on with it, and charges nothing twice", "[full]") {
    const int signal = GENERATE(SIGTERM, SIGKILL);
    const scratch_directory scratch;
    watched_tuning all(scratch.path());
    all.end_in("trial-1", 4, signal, false);
    const auto first = all.account();
    REQUIRE(first.runs.size() == 1);
    all.end_in("trial-1", all.count("trial-1") + 3, signal, true);
    all.end_in("trial-2", 5, signal, true);
    all.end_in("final", 6, signal, true);
    all.finish();

    const auto account = all.account();
    CHECK(account.header_hash == first.header_hash);
    REQUIRE(account.runs.size() == 3);
    CHECK(account.runs.front().hash == first.runs.front().hash);
    for (const char* run : {"trial-1", "trial-2", "final"}) {
        const auto ledger = privacy::read_ledger(all.ledger(run));
        CHECK(std::ssize(ledger.charges) == steps_of_runs);  // each once, a lost one too
        CHECK(account.find(std::string("cells/") + run)->ledger == ledger.header_hash);
        CHECK(ledger.looks.size() <= 1);
    }
    const auto book = all.book();
    REQUIRE(book.runs.size() == 1);
    CHECK(book.runs[0].place == all.out().string());
    CHECK(child({"verify", all.out().string()}, scratch / "verified").wait() == 0);
}
