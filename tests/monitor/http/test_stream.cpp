// What reads a stream of runs, against servers that are none.
#include <thread>
#include <vector>

#include "monitor/http/reader.hpp"
#include "monitor/http/server.hpp"
#include "monitor/view/run_view.hpp"
#include "tests/catch.hpp"
#include "tests/monitor/at_step.hpp"
#include "tests/monitor/peer.hpp"

using namespace rldp;
using namespace rldp::testing;
using monitor::run_reader;

namespace {

const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

std::string event(std::int64_t step) {
    return "data: " + monitor::to_row(at_step(step)) + "\n\n";
}

monitor::watched_place make_place(std::uint16_t port, const std::string& host = "127.0.0.1") {
    return monitor::parse_place(host + ":" + std::to_string(port));
}

struct followed {
    std::vector<std::int64_t> steps;
    std::string why;
};

/// What a reader makes of a server that sends `bytes` and closes.
followed answers(const std::string& bytes) {
    fake_server server([&](peer& other) {
        other.read_until("\r\n\r\n");
        other.send(bytes);
    });
    followed out;
    out.why = run_reader(make_place(server.port())).follow([&](const auto& seen) { out.steps.push_back(seen.step); });
    return out;
}

/// One that looks often, and follows nothing but what it is told.
std::unique_ptr<monitor::http_server> serve(const std::string& host = "127.0.0.1") {
    monitor::http_config how;
    how.host = host;
    how.limits.tick = how.limits.heartbeat = std::chrono::milliseconds(10);
    return std::make_unique<monitor::http_server>(how, std::vector<std::filesystem::path>{}, "1");
}

}  // namespace

TEST_CASE("a reader sees what a run says of itself, to its last word and its end") {
    for (const auto* host : {"127.0.0.1", "localhost", "[::1]"}) {
        auto server = serve(std::string(host) == "[::1]" ? "::1" : host);
        server->tell(at_step(1));
        run_reader reader(make_place(server->port(), host));
        std::vector<std::int64_t> steps;
        std::thread ending;
        const auto why = reader.follow([&](const monitor::run_view& seen) {
            steps.push_back(seen.step);
            if (seen.step == 1) server->tell(at_step(2));
            if (seen.step == 2)
                ending = std::thread([&] {
                    server->tell(at_step(3));
                    server.reset();
                });
        });
        ending.join();
        CHECK(steps == std::vector<std::int64_t>{1, 2, 3});
        CHECK(why == "the run ended");
    }
}

TEST_CASE("nobody there is said so, each time") {
    run_reader reader(make_place(serve()->port()));
    for (int i = 0; i < 2; ++i) CHECK(reader.follow([](const auto&) {}) == run_reader::nobody);
}

TEST_CASE("a server that goes away in the middle is said to have") {
    CHECK(answers(head + event(1)).why == "the run ended");
    CHECK(answers(head + event(1)).steps == std::vector<std::int64_t>{1});
    CHECK(answers(head + event(1) + "data: {\"name\"").why == "the run ended");
    CHECK(answers("").why == "it closed the connection; too many may be watching");
    CHECK(answers("HTTP/1.1 200 O").why.starts_with("the connection was lost ("));
    fake_server resetting([&](peer& other) {
        other.read_until("\r\n\r\n");
        other.send(head);
        other.reset();
    });
    CHECK(run_reader(make_place(resetting.port())).follow([](const auto&) {}).starts_with("the connection was lost ("));
}

TEST_CASE("comments, empty lines and fields that say nothing are passed over") {
    const auto seen = answers(head + ":\n\n" + event(1) + "event: x\r\nid: 3\n\n:\n" +
                              "data:" + monitor::to_row(at_step(2)) + "\r\n\r\n");
    CHECK(seen.steps == std::vector<std::int64_t>{1, 2});
    CHECK(seen.why == "the run ended");
}

TEST_CASE("what answers there may be no run") {
    for (const auto* answer : {"HTTP/1.1 404 Not Found\r\nContent-Type: text/event-stream\r\n\r\n",
                               "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"})
        CHECK(answers(answer + event(1)).why.starts_with("what answers there is no run (HTTP status "));
    CHECK(answers("SSH-2.0-OpenSSH_9.2\r\n").why.starts_with("the connection was lost ("));
    CHECK(answers(std::string(32, '\0')).why.starts_with("the connection was lost ("));
    CHECK(answers("HTTP/1.1 200 OK\r\nX: " + std::string(1'000'000, 'x')).why.starts_with("the connection was lost ("));
    CHECK(answers("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX: " + std::string(10'000, 'x') + "\r\n\r\n" +
                  event(1))
              .why.starts_with("the connection was lost ("));
}

TEST_CASE("what is no row ends the stream in one line") {
    const auto seen = answers(head + event(1) + "data: {}\n\n" + event(2));
    CHECK(seen.steps == std::vector<std::int64_t>{1});
    CHECK(seen.why == "it sent what is not a run's row: 'id' is missing");
}

TEST_CASE("a line has a limit, finished or not") {
    CHECK(answers(head + "data: " + std::string(2'000'000, 'x')).why == "it sent a line longer than 1 MiB");
    CHECK(answers(head + ":" + std::string(1024 * 1024, 'x') + "\n" + event(1)).why ==
          "it sent a line longer than 1 MiB");
    CHECK(answers(head + ":" + std::string(1024 * 1024 - 1, 'x') + "\n" + event(1)).steps.size() == 1);
}

TEST_CASE("a server that falls silent is given up, one that beats is not") {
    fake_server silent([&](peer& other) {
        other.send(head + event(1));
        other.read_rest();
    });
    run_reader reader(make_place(silent.port()), std::chrono::milliseconds(50));
    CHECK(reader.follow([](const auto&) {}) == "the run fell silent");

    auto server = serve();
    // A second watcher counts heart beats: enough of them to outlast the first one's patience.
    peer counting(server->port());
    counting.send(stream_request());
    run_reader patient(make_place(server->port()), std::chrono::milliseconds(500));
    std::thread ending([&] {
        for (int i = 0; i < 100; ++i) counting.read_until(":\n\n");
        server.reset();
    });
    CHECK(patient.follow([](const auto&) {}) == "the run ended");
    ending.join();
}

TEST_CASE("a reader can be stopped from another thread, before, while and after it reads") {
    const auto server = serve();
    server->tell(at_step(1));
    run_reader reader(make_place(server->port()));
    std::thread stopping;
    CHECK(reader.follow([&](const auto&) { stopping = std::thread([&] { reader.stop(); }); }) == "stopped");
    stopping.join();
    CHECK(reader.follow([](const auto&) { FAIL("it was stopped"); }) == "stopped");
}

TEST_CASE("what a watcher throws passes") {
    const auto server = serve();
    server->tell(at_step(1));
    run_reader reader(make_place(server->port()));
    for (int i = 0; i < 2; ++i)
        CHECK_THROWS_AS(reader.follow([](const auto&) { throw std::runtime_error("can't show it"); }),
                        std::runtime_error);
}
