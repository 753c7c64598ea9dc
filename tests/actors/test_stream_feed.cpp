// What `rldp monitor` is made of, against runs' streams.
#include <caf/all.hpp>
#include <future>
#include <memory>
#include <mutex>

#include "actors/display.hpp"
#include "actors/stream_feed.hpp"
#include "actors/threads.hpp"
#include "monitor/stream/reader.hpp"
#include "monitor/stream/server.hpp"
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::actors;

namespace {

/// Lines that one thread writes and another waits for.
class said {
  public:
    void operator()(const std::string& line) {
        const std::lock_guard lock(mutex_);
        lines_.push_back(line);
        grown_.notify_all();
    }
    /// The first `count` lines, once there are so many.
    std::vector<std::string> first(std::size_t count) {
        std::unique_lock lock(mutex_);
        grown_.wait_for(lock, std::chrono::minutes(1), [&] { return lines_.size() >= count; });
        return {lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(std::min(count, lines_.size()))};
    }

  private:
    std::mutex mutex_;
    std::condition_variable grown_;
    std::vector<std::string> lines_;
};

telemetry value_of(const std::string& run, std::int64_t step) {
    telemetry out;
    out.run = run;
    out.state = "running";
    out.step = step;
    return out;
}

}  // namespace

TEST_CASE("a monitor attaches to a run, hears its end and attaches to the next one at that port") {
    system_config configuration;
    caf::actor_system system(configuration);
    said lines;
    const auto display = system.spawn(
        make_fed_display, show([&](const telemetry& seen) { lines(seen.run + " " + std::to_string(seen.step)); }));
    const std::shared_ptr<void> ending(nullptr,
                                       [&](void*) { caf::anon_send_exit(display, caf::exit_reason::user_shutdown); });
    auto run = std::make_unique<monitor::stream_server>(monitor::endpoint{"127.0.0.1", 0});
    const monitor::endpoint where{"127.0.0.1", run->port()};
    const stream_feed feed(
        system, display, std::make_unique<monitor::stream_reader>(where), [&](const std::string& line) { lines(line); },
        std::chrono::milliseconds(10));
    run->show(value_of("first", 1));
    CHECK(lines.first(2) == std::vector<std::string>{"attached to run first", "first 1"});
    run->show(value_of("first", 2));
    run.reset();
    CHECK(lines.first(4) == std::vector<std::string>{"attached to run first", "first 1", "first 2",
                                                     "the run ended; waiting for another"});
    run = std::make_unique<monitor::stream_server>(where);
    run->show(value_of("second", 7));
    const auto all = lines.first(6);
    REQUIRE(all.size() == 6);  // that nobody was there between the two went without saying
    CHECK(all[4] == "attached to run second");
    CHECK(all[5] == "second 7");
}

TEST_CASE("a monitor that waits for a run can be ended") {
    system_config configuration;
    caf::actor_system system(configuration);
    std::uint16_t port = 0;
    {
        monitor::stream_server passing({"127.0.0.1", 0});
        port = passing.port();
    }
    const auto display = system.spawn(make_fed_display, show([](const telemetry&) {}));
    {
        const stream_feed feed(
            system, display, std::make_unique<monitor::stream_reader>(monitor::endpoint{"127.0.0.1", port}),
            [](const std::string&) {}, std::chrono::hours(1));
    }
    caf::anon_send_exit(display, caf::exit_reason::user_shutdown);
}
