#include <cmath>
#include <limits>

#include "monitor/terminal/terminal.hpp"
#include "tests/catch.hpp"

using namespace rldp;

TEST_CASE("the progress line fits its width and shows step, loss, ε and the time left") {
    monitor::telemetry value;
    value.run = "demo";
    value.state = "running";
    value.step = 30;
    value.steps = 120;
    value.loss = 1.5;
    value.progress_epsilon = 2.25;
    value.epsilon = 8;
    value.guaranteed_epsilon = 7.99;
    value.perplexity = std::nan("");
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

    value.guaranteed_epsilon = std::numeric_limits<double>::infinity();
    CHECK(monitor::progress_line(value, {}, 100).find("NO GUARANTEE") != std::string::npos);

    monitor::time_left time;
    const auto start = monitor::time_left::clock::time_point{};
    time.observe(value, start);
    CHECK_FALSE(time.estimate());
    value.step = 60;
    time.observe(value, start + std::chrono::seconds(30));
    CHECK(time.estimate() == std::chrono::seconds(60));
}
