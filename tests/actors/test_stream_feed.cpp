// What `rldp monitor` is made of, against runs' streams.
#include <algorithm>
#include <atomic>
#include <caf/all.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <optional>

#include "actors/display.hpp"
#include "actors/stream_feed.hpp"
#include "actors/threads.hpp"
#include "monitor/http/reader.hpp"
#include "monitor/http/server.hpp"
#include "monitor/view/run_view.hpp"
#include "tests/catch.hpp"
#include "tests/monitor/peer.hpp"

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

    /// Whether it comes to be said.
    bool has(const std::string& line) {
        std::unique_lock lock(mutex_);
        return grown_.wait_for(lock, std::chrono::minutes(1),
                               [&] { return std::find(lines_.begin(), lines_.end(), line) != lines_.end(); });
    }

  private:
    std::mutex mutex_;
    std::condition_variable grown_;
    std::vector<std::string> lines_;
};

run_view make_view(const std::string& run, std::int64_t step) {
    run_view out;
    out.name = run;
    out.state = "running";
    out.step = step;
    return out;
}

std::unique_ptr<monitor::http_server> serve(std::uint16_t port = 0) {
    monitor::http_config how;
    how.port = port;
    how.limits.tick = std::chrono::milliseconds(10);
    return std::make_unique<monitor::http_server>(how, std::vector<std::filesystem::path>{}, "1");
}

std::unique_ptr<monitor::run_reader> reader_at(std::uint16_t port) {
    return std::make_unique<monitor::run_reader>(monitor::parse_place("127.0.0.1:" + std::to_string(port)));
}

}  // namespace

TEST_CASE("a monitor attaches to a run, hears its end and attaches to the next one at that port") {
    system_config configuration;
    caf::actor_system system(configuration);
    said lines;
    const auto display = system.spawn(
        make_fed_display, show([&](const run_view& seen) { lines(seen.name + " " + std::to_string(seen.step)); }));
    const std::shared_ptr<void> ending(nullptr,
                                       [&](void*) { caf::anon_send_exit(display, caf::exit_reason::user_shutdown); });
    auto run = serve();
    const auto port = run->port();
    const stream_feed feed(
        system, display, reader_at(port), [&](const std::string& line) { lines(line); }, [&] { lines("over"); },
        std::chrono::milliseconds(10));
    run->tell(make_view("first", 1));
    CHECK(lines.first(2) == std::vector<std::string>{"attached to run first", "first 1"});
    run->tell(make_view("first", 2));
    run.reset();
    CHECK(lines.first(5) == std::vector<std::string>{"attached to run first", "first 1", "first 2", "over",
                                                     "the run ended; waiting for another"});
    run = serve(port);
    run->tell(make_view("second", 7));
    const auto all = lines.first(7);
    REQUIRE(all.size() == 7);  // that nobody was there between the two went without saying
    CHECK(all[5] == "attached to run second");
    CHECK(all[6] == "second 7");
}

TEST_CASE("a run that falls silent is not over, and is where nobody is there any more") {
    system_config configuration;
    caf::actor_system system(configuration);
    said lines;
    std::optional<testing::fake_server> silent;
    silent.emplace([](testing::peer& other) {
        other.read_until("\r\n\r\n");
        other.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " +
                   monitor::to_row(make_view("stopped", 3)) + "\n\n");
        other.read_rest();
    });
    const auto display = system.spawn(make_fed_display, show([](const run_view&) {}));
    const auto place = monitor::parse_place("127.0.0.1:" + std::to_string(silent->port()));
    {
        const stream_feed feed(
            system, display, std::make_unique<monitor::run_reader>(place, std::chrono::milliseconds(50)),
            [&](const std::string& line) { lines(line); }, [&] { lines("over"); }, std::chrono::milliseconds(10));
        // It is attached to again, and falls silent again, as often as it is there.
        const std::vector<std::string> twice = {"attached to run stopped", "the run fell silent; waiting for it",
                                                "attached to run stopped", "the run fell silent; waiting for it"};
        CHECK(lines.first(4) == twice);
        silent.reset();
        CHECK(lines.has("over"));
    }
    caf::anon_send_exit(display, caf::exit_reason::user_shutdown);
}

TEST_CASE("a monitor that waits for a run can be ended") {
    system_config configuration;
    caf::actor_system system(configuration);
    const auto port = serve()->port();
    const auto display = system.spawn(make_fed_display, show([](const run_view&) {}));
    {
        const stream_feed feed(
            system, display, reader_at(port), [](const std::string&) {}, [] {}, std::chrono::hours(1));
    }
    caf::anon_send_exit(display, caf::exit_reason::user_shutdown);
}

TEST_CASE("what keeps a monitor out is said once, however often it knocks") {
    system_config configuration;
    caf::actor_system system(configuration);
    said lines;
    std::atomic<int> knocked = 0;
    testing::fake_server shut([&](testing::peer& other) {
        other.read_until("\r\n\r\n");
        if (++knocked <= 3) return other.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 3\r\n\r\nno\n");
        other.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " +
                   monitor::to_row(make_view("opened", 3)) + "\n\n");
        other.read_rest();
    });
    const auto display = system.spawn(make_fed_display, show([](const run_view&) {}));
    {
        const stream_feed feed(
            system, display, reader_at(shut.port()), [&](const std::string& line) { lines(line); }, [] {},
            std::chrono::milliseconds(10));
        const auto said = lines.first(2);
        REQUIRE(said.size() == 2);
        CHECK(said[0].ends_with("; waiting"));
        CHECK(said[1] == "attached to run opened");
    }
    caf::anon_send_exit(display, caf::exit_reason::user_shutdown);
}
