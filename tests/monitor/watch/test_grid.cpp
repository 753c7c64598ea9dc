#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "monitor/watch/catalog.hpp"
#include "tests/catch.hpp"
#include "tests/monitor/watch/made_up_run.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::monitor;
using namespace rldp::testing;

TEST_CASE("a grid is followed as it fills up, and what is wrong with its files harms nothing") {
    const scratch_directory scratch;
    make_run(scratch / "all/grid/cells/a", {.over = true});
    rldp::write_file(scratch / "all/grid/grid.json", R"({"kind": "compare"})");
    catalog subject({scratch / "all"}, {.search = std::chrono::milliseconds(0)});
    subject.refresh();
    REQUIRE(subject.grids().size() == 1);
    const auto& seen = subject.grids().front()->view();
    CHECK(seen.id == "grid");
    CHECK(seen.kind == "compare");
    CHECK(seen.cells.empty());
    CHECK(subject.runs().front()->view().name == "grid/cells/a");

    const auto progress = scratch / "all/grid/progress.json";
    rldp::write_file(progress, R"({"cells": [{"id": "a", "state": "done"}, {"id": "b", "state": "failed"}, 7]})");
    const auto before = subject.version();
    subject.refresh();
    CHECK(subject.version() > before);
    REQUIRE(seen.cells.size() == 2);
    CHECK(seen.cells[1].name == "b");
    CHECK(seen.cells[1].state == "failed");
    for (const char* wrong : {"", "{", "[]", R"({"cells": 3})", "\xff\xfe"}) {
        rldp::write_file(progress, wrong);
        subject.refresh();
        CHECK(seen.problem.find("progress.json") == 0);
        CHECK(seen.cells.empty());
    }
    CHECK(subject.find_grid("grid") != nullptr);
    CHECK(subject.find_grid("other") == nullptr);

    // Named itself, it has its own name; its cells stay below it.
    catalog alone({scratch / "all/grid"});
    alone.refresh();
    CHECK(alone.grids().front()->view().name == "grid");
    CHECK(alone.runs().front()->view().name == "grid/cells/a");
}
