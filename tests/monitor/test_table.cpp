#include "monitor/terminal/terminal.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::monitor;
using rldp::eval::quantity;

namespace {

run_view seen(const std::string& run, std::int64_t step, double loss, const std::string& state = "running") {
    run_view out;
    out.name = run;
    out.state = state;
    out.step = step;
    out.steps = 100;
    out.latest[quantity::loss].value = loss;
    out.latest[quantity::epsilon_spent].value = 1.5;
    out.progress_step = step;
    out.contract.emplace().any = true;
    out.contract->epsilon_guaranteed = 8;
    return out;
}

std::size_t count_columns(const std::string& line) {
    return static_cast<std::size_t>(std::count_if(
        line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::vector<std::string> split_lines(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
}

}  // namespace

TEST_CASE("a sparkline goes from the least to the greatest of the last values") {
    CHECK(sparkline({1, 2, 3, 4, 5, 6, 7, 8}, 8) == "▁▂▃▄▅▆▇█");
    CHECK(sparkline({100, 1, 8}, 2) == "▁█");
    CHECK(sparkline({3, 3}, 3) == " ▁▁");
    CHECK(sparkline({}, 2) == "  ");
}

TEST_CASE("runs are lines of 80 columns, those that go on first") {
    run_table table;
    table.observe(seen("a", 100, 0.5, "done"));
    for (int step = 1; step < 30; ++step)
        table.observe(seen("grid/cells/a-cell-with-a-long-name-seed7", step, 3 - 0.1 * step));
    table.observe(seen("c", 1, std::numeric_limits<double>::quiet_NaN(), "budget exhausted"));
    auto none = seen("d", 2, 1);
    none.contract->any = false;
    table.observe(none);
    const auto lines = split_lines(table.drawn(80, 24));
    REQUIRE(lines.size() == 5);
    for (const auto& line : lines) CHECK(count_columns(line) <= 80);
    CHECK(lines[1].find("d ") == 0);
    CHECK(lines[1].find("none") != std::string::npos);
    CHECK(lines[2].find("…") == 0);
    CHECK(lines[2].find("seed7") != std::string::npos);
    CHECK(lines[2].find("█▇▆▆▅▄▃▃▂▁") != std::string::npos);
    CHECK(lines[3].find("a ") == 0);
    CHECK(split_lines(table.drawn(80, 3)).back() == "… and 3 more");
    CHECK(split_lines(table.drawn(80, 5)).size() == 5);
    table.observe(seen("a0", 1, 1, "silent"));  // nobody makes it
    CHECK(split_lines(table.drawn(80, 24))[4].starts_with("a0 "));
}

TEST_CASE("a table of runs fits narrow terminals: columns of least worth go, and no name is cut within a character") {
    run_table table;
    table.observe(seen("grid/cells/a-cell-with-a-long-name-seed7", 7, 2.5));
    table.observe(seen("patientenübersichtäöüäöüäöüäöüäöüäöüäöüäöüäöü", 30, 2.5, "budget exhausted"));
    for (std::size_t width = 1; width <= 130; ++width) {
        const auto text = table.drawn(width, 24);
        const auto lines = split_lines(text);
        INFO(width << ":\n" << text);
        REQUIRE(lines.size() == 3);
        for (const auto& line : lines) CHECK(count_columns(line) <= width);
        CHECK_NOTHROW(nlohmann::json(text).dump());  // it is UTF-8
        if (width < 50) continue;
        CHECK(has(lines[1], "seed7"));
        CHECK(has(lines[1], "1.5, 8"));
        CHECK(has(lines[0], "loss") == (width >= 58));
        CHECK(has(lines[0], "ppl") == (width >= 66));
        CHECK(has(lines[1], "▁") == (width >= 78));
    }
}
