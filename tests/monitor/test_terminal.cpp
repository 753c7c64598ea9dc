#include <algorithm>

#include "monitor/terminal/live_line.hpp"
#include "monitor/terminal/terminal.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::monitor;
using eval::quantity;

namespace {

/// A run that is priced up to its last step, on a budget of 8.
run_view under_way(const std::string& run, std::int64_t step, std::int64_t steps, double loss, double spent) {
    run_view out;
    out.name = run;
    out.state = "running";
    out.step = out.progress_step = step;
    out.steps = steps;
    out.latest[quantity::loss].value = loss;
    out.latest[quantity::epsilon_spent].value = spent;
    auto& promised = out.contract.emplace();
    promised.any = true;
    promised.epsilon_budget = promised.epsilon_guaranteed = 8;
    return out;
}

}  // namespace

TEST_CASE("the progress line fits its width and shows step, loss, ε and the time left") {
    auto value = under_way("demo", 30, 120, 1.5, 2.25);
    const auto line = monitor::progress_line(value, std::chrono::seconds(75), 100);
    for (const auto* part : {"demo", "step 30/120", "loss 1.500", "ε ~2.25 of 8.00 guaranteed", "00:01:15 left"})
        CHECK(line.find(part) != std::string::npos);
    CHECK(monitor::progress_line(value, std::chrono::seconds(75), 10).find("░") == std::string::npos);

    value.state = "stopping";
    CHECK(monitor::progress_line(value, std::chrono::seconds(75), 120).find("stopping; once more ends it at once") !=
          std::string::npos);
    for (const auto* state : {"done", "budget exhausted", "interrupted", "failed", "starting", "running", "stopping"}) {
        value.state = state;
        CHECK(monitor::is_over(value) == !value.state.ends_with("ing"));
    }
    value.state = "running";

    value.progress_step = 24;
    CHECK(has(monitor::progress_line(value, {}, 120), "ε ~2.25 as of step 24, of 8.00 guaranteed"));
    value.progress_step = 0;
    CHECK(has(monitor::progress_line(value, {}, 120), "ε – of 8.00 guaranteed"));

    value.contract->any = false;
    CHECK(monitor::progress_line(value, {}, 100).find("NO GUARANTEE") != std::string::npos);

    monitor::time_left time;
    const auto start = monitor::time_left::clock::time_point{};
    time.observe(value, start);
    CHECK_FALSE(time.estimate());
    value.step = 60;
    time.observe(value, start + std::chrono::seconds(30));
    CHECK(time.estimate() == std::chrono::seconds(60));
}

TEST_CASE("a line that waits shows a sign of life, and fits its width still") {
    const line_text text = [](std::size_t width) { return std::string("reading weights").substr(0, width); };
    using std::chrono::milliseconds;
    CHECK(with_sign_of_life(text, 80, milliseconds(999), 0) == "reading weights");
    CHECK(with_sign_of_life(text, 80, milliseconds(1000), 0) == "reading weights  ⠋ 1 s");
    CHECK(with_sign_of_life(text, 80, milliseconds(59999), 11) == "reading weights  ⠙ 59 s");
    CHECK(with_sign_of_life(text, 80, milliseconds(125000), 2) == "reading weights  ⠹ 2:05 min");
    CHECK(with_sign_of_life(text, 80, milliseconds(7500000), 9) == "reading weights  ⠏ 2:05 h");
    CHECK(with_sign_of_life(text, 12, milliseconds(1000), 0) == "readi  ⠋ 1 s");
    CHECK(with_sign_of_life(text, 7, milliseconds(1000), 0) == "reading");
}

TEST_CASE("what is read is told in the words of its kind") {
    CHECK(loading_text({"weights", 1 << 29, 1 << 30, true}) == "reading weights  50 % (0.5 of 1.0 GiB)");
    CHECK(loading_text({"records", 299, 1000, false}) == "reading records  20 %");
    CHECK(loading_text({"records", 250, 0, false}) == "reading records");
}

TEST_CASE("a progress line fits whatever the width, and keeps what matters longest") {
    auto value = under_way("a-run-with-quite-a-long-name-of-its-own", 12'345, 20'000, 2.125, 7.5);
    value.progress_step = 12'288;
    value.latest[quantity::perplexity].value = 12.5;
    value.evaluated_step = 12'000;
    for (const auto* state : {"running", "stopping", "budget exhausted", "done"})
        for (const bool guaranteed : {true, false})
            for (std::size_t width = 3; width <= 220; ++width) {
                value.state = state;
                value.contract->any = guaranteed;
                const auto line = monitor::progress_line(value, std::chrono::seconds(75), width);
                const auto columns = static_cast<std::size_t>(std::count_if(
                    line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
                INFO(width << ": " << line);
                CHECK(columns <= width);
                if (width >= 20) CHECK(has(line, "step 12345/20000"));
                if (width < 40) continue;
                CHECK(has(line, "ε ~7.50"));
                if (!guaranteed) CHECK(has(line, "NO GUARANTEE"));
                if (width >= 60 && value.state == "done") CHECK(has(line, "done"));
                if (width >= 190) CHECK((has(line, "as of step 12288") && has(line, value.name) && has(line, "█")));
            }
}

TEST_CASE("a line of 80 columns, which a terminal has, keeps the run's name and its bar beside a perplexity") {
    auto value = under_way("deck", 24, 40, 0.4461, 6.79);
    value.latest[quantity::perplexity] = {1.648, {{1.6, 1.7}}};
    value.evaluated_step = 20;
    const std::chrono::seconds left(75);
    CHECK(monitor::progress_line(value, left, 79) ==
          "deck ████████░░░░░ step 24/40  ε ~6.79 of 8.00  perplexity 1.648  00:01:15 left");
    CHECK(monitor::progress_line(value, left, 49) == "deck ██████████░░░░░░ step 24/40  ε ~6.79 of 8.00");
    CHECK(monitor::progress_line(value, left, 30) == "step 24/40  ε ~6.79");
    value.name = "compared/cells/rldp-eps8-seed0";
    CHECK(monitor::progress_line(value, left, 79) ==
          "…ared/cells/rldp-eps8-seed0 █████░░░ step 24/40  ε ~6.79 of 8.00  00:01:15 left");
    CHECK(has(monitor::progress_line(value, left, 200), "compared/cells/rldp-eps8-seed0 ████"));
}
