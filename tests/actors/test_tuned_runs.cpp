// Runs that one budget pays for together.
#include <numeric>

#include "bench/plain_loop.hpp"
#include "privacy/spending/account.hpp"
#include "privacy/spending/book.hpp"
#include "privacy/spending/verify.hpp"
#include "privacy/trusted_side.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

struct tuning {
    scratch_directory scratch;
    std::filesystem::path out = scratch / "tuned", book = scratch / "book";
    config::run_config config = small(
        {"privacy.runs=3", "privacy.epsilon=2", "privacy.delta=1e-4", "privacy.book=" + (scratch / "book").string()});
    opening how{.account = out};

    tuning() { create_private_directory(out / "trusted"); }
    std::filesystem::path at(const std::string& name) const { return out / "cells" / name; }
    opened_run begin(const std::string& name) const { return create_run(config, at(name), how); }
    std::string refused(const std::string& name) const {
        return refusal([&] { begin(name); });
    }
};

}  // namespace

TEST_CASE("runs of a tuning draw and add noise of their own") {
    const tuning all;
    std::vector<std::string> keys;
    for (const char* name : {"trial-1", "trial-2"}) {
        auto opened = all.begin(name);
        keys.push_back(privacy::opened(opened.closed)->key.hmac("which"));
        bench::run_plain(opened, 12);
    }
    CHECK(keys[0] != keys[1]);
    CHECK(privacy::read_ledger(eval::run_directory{all.at("trial-1")}.ledger()).header_hash !=
          privacy::read_ledger(eval::run_directory{all.at("trial-2")}.ledger()).header_hash);
}

TEST_CASE("runs of a tuning are one promise in the budget book, however often they go on") {
    const tuning all;
    privacy::set_total(all.book, {.epsilon_budget = 2, .delta = 1e-4, .unit = "record"});
    {
        auto opened = all.begin("trial-1");
        bench::run_plain(opened, 6);
        REQUIRE(
            opened.parts.budget->grant(7, opened.parts.steps->training().requested_noise_multiplier()));  // and lost
    }
    CHECK(has(refusal([&] { resume_run(all.at("trial-1")); }), "rldp tune --resume"));
    const auto copy = all.scratch / "copy";
    std::filesystem::copy(all.at("trial-1"), copy, std::filesystem::copy_options::recursive);
    const auto summary = resume_quietly(all.at("trial-1"), all.how);
    CHECK(summary.steps_lost == 1);
    CHECK(summary.runs == 3);
    for (const char* name : {"trial-2", "final"}) all.begin(name);

    const auto known = privacy::read_book(all.book);
    REQUIRE(known.runs.size() == 1);
    CHECK(known.runs[0].place == all.out.string());
    CHECK(*known.runs[0].epsilon_guaranteed == Approx(2).epsilon(1e-3));
    const auto& phases = known.runs[0].phases;
    CHECK(std::accumulate(phases.begin(), phases.end(), std::int64_t{0},
                          [](auto sum, const auto& each) { return sum + each.steps; }) == 3 * 12);
    // Its looks, too, are of all runs.
    const auto ledger = privacy::read_ledger(eval::run_directory{all.at("trial-1")}.ledger());
    CHECK(known.runs[0].looks == ledger.header.all_looks());
    CHECK(privacy::compute_epsilon(ledger.header.all_looks(), 1e-4) == Approx(2).epsilon(1e-3));
    CHECK(ledger.charges.size() == 12);
    CHECK(privacy::verify(ledger).epsilon_guaranteed == Approx(2).epsilon(1e-3));

    // Brought back from a copy, its steps would be made twice.
    std::filesystem::rename(all.at("trial-1"), all.scratch / "ended");
    std::filesystem::rename(copy, all.at("trial-1"));
    CHECK(has(refusal([&] { resume_run(all.at("trial-1"), all.how); }), "has gone on elsewhere"));

    // A fourth, and one that is made again, nobody has paid for.
    CHECK(has(all.refused("trial-3"), "one more than the 3 runs"));
    std::filesystem::remove_all(all.at("trial-2"));
    CHECK(has(all.refused("trial-2"), "what that spent is spent"));
    CHECK_FALSE(std::filesystem::exists(all.at("trial-2")));
    CHECK(privacy::read_account(privacy::locate_account(all.out)).runs.size() == 3);
}

TEST_CASE("runs of a tuning are on the same data and split") {
    tuning all;
    all.config.privacy.population = 300;
    all.begin("trial-1");
    auto other = all.config;
    other.data.split_seed += 1;
    CHECK(has(refusal([&] { create_run(other, all.at("trial-2"), all.how); }), "other data or another split"));
    CHECK_FALSE(std::filesystem::exists(all.at("trial-2")));
}

TEST_CASE("a run of a tuning is begun by it alone, and at its price") {
    const tuning all;
    CHECK(has(refusal([&] { create_run(all.config, all.scratch / "run"); }), "privacy.runs is 3"));
    CHECK(has(refusal([&] { create_run(small(), all.at("run"), all.how); }), "privacy.runs is 1"));
    CHECK_FALSE(std::filesystem::exists(all.scratch / "run"));
    all.begin("trial-1");
    auto other = all.config;
    other.train.steps = 11;
    CHECK(has(refusal([&] { create_run(other, all.at("trial-2"), all.how); }), "the same price"));
    CHECK_FALSE(std::filesystem::exists(all.at("trial-2")));
}
