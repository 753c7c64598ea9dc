// Whole runs whose noise is correlated over steps.
#include <ATen/ATen.h>

#include <cmath>
#include <map>
#include <set>

#include "actors/loader.hpp"
#include "bench/plain_loop.hpp"
#include "config/methods.hpp"
#include "privacy/release.hpp"
#include "privacy/spending/book.hpp"
#include "privacy/spending/ledger.hpp"
#include "privacy/spending/verify.hpp"
#include "privacy/trusted_side.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/support/owned.hpp"
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

namespace {

/// How much two vectors point the same way, in standard deviations of what independent noise does.
double alike(const at::Tensor& a, const at::Tensor& b) {
    const auto x = a.to(at::kDouble), y = b.to(at::kDouble);
    return (x.dot(y) / (x.norm() * y.norm())).item<double>() * std::sqrt(static_cast<double>(x.numel()));
}

/// Whom a step draws, by what is drawn.
std::vector<std::vector<std::int32_t>> list_draw(const opened_run& run, std::uint64_t seq) {
    loader_state sampler;
    sampler.closed = run.closed;
    sampler.sample_rate = run.facts->plan.step_rate();
    const auto drawn = sampler.make(seq);
    std::vector<std::vector<std::int32_t>> out;
    for (const auto& unit : privacy::opened(drawn).units) out.push_back(owned(unit).records.front());
    return out;
}

}  // namespace

TEST_CASE("two copies of a run in bands go on with noise and draws of their own, and no tail of what was before") {
    scratch_directory scratch;
    const auto book = scratch / "book";
    const auto config = small({"method.name=static", "noise.bands=4", "lora.rank=32", "privacy.book=" + book.string()});
    {
        auto opened = create_run(config, scratch / "a");
        bench::run_plain(opened, 6);  // a checkpoint at 5
    }
    std::filesystem::copy(scratch / "a", scratch / "b", std::filesystem::copy_options::recursive);
    std::vector<std::uint16_t> groups;
    std::map<std::string, std::vector<std::vector<std::int32_t>>> draws;
    std::map<std::string, std::vector<at::Tensor>> released;  // of steps 6 to 9
    for (const std::string name : {"a", "b"}) {
        auto opened = resume_run(scratch / name);
        const auto& inside = privacy::opened(opened.closed);
        if (groups.empty()) groups = inside->groups;
        CHECK(inside->groups == groups);  // so a unit's turns are the same in both
        draws[name] = list_draw(opened, 7);
        bench::run_plain(opened, 9);
        const eval::run_directory where{scratch / name};
        for (const auto& one :
             privacy::release_log::read(where.releases(), opened.facts->seal, opened.parts.budget->ledger_view()))
            if (one.charged->seq >= 6) released[name].push_back(one.gradient.flatten());
        REQUIRE(released[name].size() == 4);
    }
    CHECK(draws["a"] != draws["b"]);
    const auto &a = released["a"], &b = released["b"];
    CHECK(at::equal(a[0], b[0]));  // made before they parted
    for (std::size_t i = 1; i < 4; ++i) CHECK(std::abs(alike(a[i], b[i])) < 5);
    for (const auto& own : {a, b}) {
        // Within a process each step takes back a part of the one before; the first after a start takes back nothing.
        CHECK(std::abs(alike(own[0], own[1])) < 5);
        CHECK(alike(own[1], own[2]) < -10);
        CHECK(alike(own[2], own[3]) < -10);
    }
    // The ledger of either is whole: what forbids it is the book, which counts the copy's whole promise once more.
    CHECK(privacy::read_book(book).runs.size() == 2);
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
