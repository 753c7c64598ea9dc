// What verify makes of a tuning's directory.
#include "eval/report/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/eval/report/fake_finished_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

/// Two trials and a final run, as their owner has them.
struct fake_tuning {
    scratch_directory scratch;
    config::run_config config = small_config({"privacy.runs=3", "method.name=static"});
    int keys = 0;

    fake_tuning() {
        std::filesystem::create_directory(scratch / "trusted");
        for (const char* name : {"trial-1", "trial-2", "final"}) begin(name, true);
    }
    std::filesystem::path at(const std::string& name) const { return scratch / ("cells/" + name); }
    /// Each under a key of its own.
    void begin(const std::string& name, bool entered) {
        const auto run = write_run(at(name), config);
        const std::string key(64, static_cast<char>('a' + keys++));
        write_ledger(run.ledger(), config, [&](auto& header) { header.data_hmac = key; });
        write_file(run.summary(), eval::to_json(make_summary(privacy::read_ledger(run.ledger()))) + "\n");
        eval::write_metrics(run.metrics(), make_log(privacy::read_ledger(run.ledger())));
        if (!entered) return;
        // Before its first charge.
        auto bare = privacy::read_ledger(run.ledger());
        bare.charges = {};
        bare.looks = {};
        privacy::enter_account(scratch / ".", {"cells/" + name, bare, scratch / name, "data", "split"});
    }
    std::string refused() const {
        return refusal([&] { eval::verify_account(scratch / ".", {}); });
    }
};

}  // namespace

TEST_CASE("a tuning is verified as one composition of all its runs") {
    const fake_tuning tuning;
    CHECK(eval::holds_account(tuning.scratch / "."));
    const auto found = eval::verify_account(tuning.scratch / ".", {});
    CHECK(found.account.runs.size() == 3);
    CHECK(found.epsilon_spent <= found.account.header.epsilon_guaranteed * (1 + 1e-6));
    CHECK(found.epsilon_spent == Approx(2).epsilon(1e-3));
    // One run alone is worth less than a run's whole promise.
    const auto alone = privacy::read_ledger(eval::run_directory{tuning.at("final")}.ledger());
    CHECK(privacy::make_accountant("pld")->epsilon(alone.phases(), 1e-5) < 1.9);
}

TEST_CASE("a configuration asks for as many runs as a budget pays for, and no more") {
    const auto with = [](std::int64_t runs) { return small_config({fmt::format("privacy.runs={}", runs)}); };
    CHECK(with(most_runs).privacy.runs == most_runs);
    CHECK(has(refusal([&] { with(most_runs + 1); }), "privacy.runs"));
}

TEST_CASE("a certificate of one of a tuning's runs says that it is a share") {
    const fake_tuning tuning;
    const eval::run_directory run{tuning.at("final")};
    eval::certify_run(run, nullptr);
    const auto found = eval::verify_run(run, {});
    CHECK(found.found.promised.runs == 3);
    CHECK(std::any_of(found.not_checked.begin(), found.not_checked.end(), [](const auto& one) {
        return one.subject == "account" && has(one.sentence, "no more than 3 runs");
    }));
}

TEST_CASE("a run that the account does not know, or knows otherwise, is found") {
    fake_tuning tuning;
    SECTION("one more") {
        tuning.begin("trial-3", false);
        CHECK(has(tuning.refused(), "a run more than was paid for"));
    }
    SECTION("all, for the account was cut") {
        const auto file = privacy::locate_account(tuning.scratch / ".");
        const auto text = read_file(file);
        write_file(file, text.substr(0, text.find('\n') + 1));
        CHECK(has(tuning.refused(), "a run more than was paid for"));
    }
    SECTION("one that was removed") {
        std::filesystem::remove_all(tuning.at("trial-2"));
        CHECK(has(tuning.refused(), "cells/trial-2 was begun"));
    }
    SECTION("one that was made again") {
        std::filesystem::remove_all(tuning.at("trial-2"));
        std::filesystem::copy(tuning.at("final"), tuning.at("trial-2"), std::filesystem::copy_options::recursive);
        const auto ledger = eval::run_directory{tuning.at("trial-2")}.ledger();
        write_ledger(ledger, tuning.config, [](auto& header) { header.data_hmac = std::string(64, 'e'); });
        write_file(eval::run_directory{tuning.at("trial-2")}.summary(),
                   eval::to_json(make_summary(privacy::read_ledger(ledger))) + "\n");
        CHECK(has(tuning.refused(), "is not the ledger that cells/trial-2 was begun with"));
    }
    SECTION("a step more in one of them") {
        const auto ledger = eval::run_directory{tuning.at("trial-1")}.ledger();
        const auto text = read_file(ledger);
        const auto last = text.rfind('\n', text.size() - 2) + 1;
        write_file(ledger, text + text.substr(last));
        CHECK(has(tuning.refused(), "seq 41 was expected"));
    }
    SECTION("a promise that is lowered") {
        const auto file = privacy::locate_account(tuning.scratch / ".");
        auto text = read_file(file);
        const auto runs = text.find("\"runs\":3");
        text.replace(runs, 8, "\"runs\":2");
        write_file(file, text);
        CHECK(has(tuning.refused(), "account.jsonl: line 1"));
    }
}
