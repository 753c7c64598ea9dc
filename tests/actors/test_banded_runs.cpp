// Whole runs whose noise is correlated over steps.
#include <set>

#include "bench/plain_loop.hpp"
#include "config/methods.hpp"
#include "privacy/spending/ledger.hpp"
#include "privacy/spending/verify.hpp"
#include "privacy/trusted_side.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

TEST_CASE("a run with noise in bands is charged by rounds, and keeps its groups and their turns over a restart") {
    scratch_directory scratch;
    const auto config = small({"method.name=static", "noise.bands=4"});
    std::vector<std::uint16_t> groups;
    {
        auto opened = create_run(config, scratch / "run");
        const auto& inside = privacy::opened(opened.closed);
        CHECK(inside->bands == 4);
        groups = inside->groups;
        CHECK(groups.size() == inside->train.size());
        CHECK(std::set<std::uint16_t>(groups.begin(), groups.end()).size() == 4);
        bench::run_plain(opened, 6);
        REQUIRE(opened.parts.budget->grant(7, 1));  // and lost
    }
    {
        const auto resumed = resume_run(scratch / "run");
        CHECK(privacy::opened(resumed.closed)->groups == groups);
    }
    const auto summary = resume_quietly(scratch / "run");
    CHECK(summary.steps_lost == 1);
    CHECK(summary.steps_done == 12);
    CHECK(summary.bands == 4);
    const auto book = privacy::read_ledger(scratch / "run/public/ledger.jsonl");
    CHECK(book.header.bands == 4);
    CHECK(book.charges.size() == 12);
    CHECK(book.charges.at(0).sample_rate == 4 * book.header.sample_rate);
    REQUIRE(book.phases().size() == 1);
    CHECK(book.phases()[0].steps == 3);
    CHECK(privacy::verify(book).epsilon_guaranteed == Approx(book.header.epsilon_guaranteed).epsilon(1e-3));
    // Whoever says that it was independent noise promises another ε.
    auto lie = book;
    lie.header.bands = 1;
    CHECK_THROWS(privacy::verify(lie));
    // Another run's units are in other groups.
    const auto other = create_run(config, scratch / "other");
    CHECK(privacy::opened(other.closed)->groups != groups);
}

TEST_CASE("every method runs with noise in bands, and its ledger is verified", "[full]") {
    scratch_directory scratch;
    for (const auto& row : config::methods()) {
        CAPTURE(row.name);
        const auto directory = scratch / row.name;
        const auto summary = run_quietly(
            small({"method.name=" + row.name, "train.warmup=4", "noise.policy=fixed", "noise.bands=3"}), directory);
        CHECK(summary.steps_done == 12);
        CHECK(saved_adapter(directory).isfinite().all().item<bool>());
        const auto book = privacy::read_ledger(directory / "public/ledger.jsonl");
        CHECK(book.phases().front().steps == 4);
        CHECK_NOTHROW(privacy::verify(book));
    }
}
