// A run's stream as strangers meet it.
#include <sys/resource.h>

#include <memory>
#include <vector>

#include "monitor/stream/server.hpp"
#include "tests/catch.hpp"
#include "tests/monitor/at_step.hpp"
#include "tests/monitor/peer.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::testing;
using monitor::stream_server;

namespace {

const monitor::endpoint anywhere{"127.0.0.1", 0};

std::string answer_to(const stream_server& server, const std::string& request) {
    peer other(server.port());
    other.send(request);
    const auto head = other.read_until("\r\n\r\n");
    return head.starts_with("HTTP/1.1 200 ") ? head : head + other.read_rest();  // a stream would not end
}

std::string get(const std::string& target, const std::string& host) {
    return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
}

/// Who watches now, tried until the server has noticed that others have gone.
std::int64_t step_seen_by_a_new_watcher(const stream_server& server) {
    for (int attempt = 0; attempt < 100'000; ++attempt) {
        peer watcher(server.port());
        watcher.send(stream_request());
        if (const auto seen = next_event(watcher)) return seen->step;
    }
    return -1;
}

bool still_serves(const stream_server& server) {
    return step_seen_by_a_new_watcher(server) > 0;
}

}  // namespace

TEST_CASE("a watcher gets the latest value at once and later ones as they are shown") {
    stream_server server(anywhere);
    server.show(at_step(1, 3));
    peer watcher(server.port());
    watcher.send(stream_request());
    const auto head = watcher.read_until("\r\n\r\n");
    for (const auto* line : {"HTTP/1.1 200 OK\r\n", "\r\nContent-Type: text/event-stream\r\n",
                             "\r\nCache-Control: no-store\r\n", "\r\nX-Content-Type-Options: nosniff\r\n"})
        CHECK(head.find(line) != std::string::npos);
    CHECK(head.find("Access-Control") == std::string::npos);
    const auto event = watcher.read_until("\n\n");
    CHECK(event.starts_with("data: {"));
    CHECK(event.find("0.123456789") != std::string::npos);
    for (std::int64_t step = 2; step <= 5; ++step) {
        server.show(at_step(step));
        const auto seen = next_event(watcher);
        REQUIRE(seen);
        CHECK(seen->step == step);
    }
}

TEST_CASE("who connects before anything is shown gets the first value") {
    stream_server server(anywhere);
    peer watcher(server.port());
    watcher.send(stream_request());
    watcher.read_until("\r\n\r\n");
    server.show(at_step(7));
    CHECK(next_event(watcher)->step == 7);
}

TEST_CASE("a request may come byte by byte") {
    stream_server server(anywhere);
    server.show(at_step(1));
    peer watcher(server.port());
    for (const char byte : stream_request()) watcher.send({&byte, 1});
    CHECK(next_event(watcher)->step == 1);
}

TEST_CASE("a reader that does not read misses values and gets the latest") {
    monitor::stream_limits limits;
    limits.write = std::chrono::hours(1);
    stream_server server(anywhere, limits);
    server.show(at_step(1));
    peer lazy(server.port()), prompt(server.port());
    lazy.send(stream_request());
    prompt.send(stream_request());
    REQUIRE(next_event(lazy));
    REQUIRE(next_event(prompt));
    constexpr std::int64_t last = 8;
    constexpr std::size_t radii = 20'000;  // 220 KB, more than the system holds
    for (std::int64_t step = 2; step <= last; ++step) {
        server.show(at_step(step, radii));
        const auto seen = next_event(prompt);
        REQUIRE(seen);
        CHECK(seen->step == step);  // all came by; none was left out before it was offered
    }
    std::vector<std::int64_t> steps;
    while (const auto seen = next_event(lazy)) {
        steps.push_back(seen->step);
        if (steps.back() == last) break;
    }
    REQUIRE_FALSE(steps.empty());
    CHECK(steps.back() == last);
    CHECK(steps.size() <= 3);
}

TEST_CASE("a reader that takes nothing for long is dropped") {
    monitor::stream_limits limits;
    limits.write = std::chrono::milliseconds(50);
    limits.connections = 1;
    stream_server server(anywhere, limits);
    peer lazy(server.port(), 4096);
    lazy.send(stream_request());
    lazy.read_until("\r\n\r\n");
    server.show(at_step(1, 50'000));
    CHECK(still_serves(server));  // its place is free again
}

TEST_CASE("a watcher who hears nothing new hears the heart beat") {
    monitor::stream_limits limits;
    limits.heartbeat = std::chrono::milliseconds(10);
    stream_server server(anywhere, limits);
    peer watcher(server.port());
    watcher.send(stream_request());
    watcher.read_until("\r\n\r\n");
    CHECK(watcher.read_until("\n\n") == ":\n\n");
    CHECK(watcher.read_until("\n\n") == ":\n\n");
}

TEST_CASE("garbage gets a short refusal or none, and the stream goes on") {
    stream_server server(anywhere);
    server.show(at_step(1));
    // The header of a server_handshake without payload, which ended processes that listened with CAF 0.17.6's BASP.
    std::string handshake(32, '\0');
    handshake[15] = 3;  // the protocol's version
    REQUIRE(handshake.size() == 32);
    std::string binary;
    for (int i = 0; i < 5000; ++i) binary += static_cast<char>(i * 7919 % 251);
    for (const auto& garbage :
         {handshake, binary, std::string("GET\r\n\r\n"), std::string("\x16\x03\x01\x02", 4) + binary,
          std::string("GET /api/stream HTTP/9.9\r\n\r\n"), std::string("GET /api/stream HTTP/1.1\r\nHost\r\n\r\n"),
          "POST /api/stream HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n" + binary}) {
        CHECK(answer_to(server, garbage).starts_with("HTTP/1.1 400 Bad Request\r\n"));
        CHECK(still_serves(server));
    }
    peer(server.port()).reset();
    peer half(server.port());
    half.send("GET /api/str");
    half.reset();
    CHECK(still_serves(server));
}

TEST_CASE("a request header has a limit") {
    stream_server server(anywhere);
    server.show(at_step(1));
    const auto padded = [](std::size_t size) {
        const std::string start = "GET /api/stream HTTP/1.1\r\nHost: localhost\r\nX: ", end = "\r\n\r\n";
        return start + std::string(size - start.size() - end.size(), 'x') + end;
    };
    peer fits(server.port());
    fits.send(padded(8 * 1024));
    CHECK(next_event(fits));
    for (const std::size_t size : {8 * 1024 + 1, 1024 * 1024})
        CHECK(answer_to(server, padded(size)).starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"));
    std::string many = "GET /api/stream HTTP/1.1\r\n";
    for (int i = 0; i < 10'000; ++i) many += "a:\r\n";
    CHECK(answer_to(server, many).starts_with("HTTP/1.1 431 "));
    CHECK(still_serves(server));
}

TEST_CASE("only a Host of the loopback is served") {
    stream_server server(anywhere);
    server.show(at_step(1));
    for (const auto* host : {"127.0.0.1", "127.0.0.1:4242", "localhost", "LocalHost:1", "[::1]", "[::1]:65535"}) {
        INFO(host);
        peer watcher(server.port());
        watcher.send(get("/api/stream", host));
        CHECK(next_event(watcher));
    }
    for (const auto* host :
         {"", "evil.example", "evil.example:4242", "127.0.0.1.evil.example", "localhost.evil.example:1",
          "localhost:", "localhost:x", "localhost:1:1", "::1", "[::1", "0.0.0.0", "evil@localhost"}) {
        INFO(host);
        CHECK(answer_to(server, get("/api/stream", host)).starts_with("HTTP/1.1 403 Forbidden\r\n"));
    }
    CHECK(answer_to(server, "GET /api/stream HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 403 "));
    CHECK(answer_to(server, "GET /api/stream HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
              .starts_with("HTTP/1.1 403 "));
}

TEST_CASE("nothing but the stream is there, and it can only be got") {
    stream_server server(anywhere);
    for (const auto* target :
         {"/", "/api/stream/", "/api/stream?x", "/../api/stream", "/api", "http://localhost/api/stream", "*"})
        CHECK(answer_to(server, get(target, "localhost")).starts_with("HTTP/1.1 404 Not Found\r\n"));
    for (const std::string method : {"POST", "HEAD", "OPTIONS", "DELETE", "PUT"}) {
        const auto answer =
            answer_to(server, method + " /api/stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc");
        CHECK(answer.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
        CHECK(answer.find("\r\nAllow: GET\r\n") != std::string::npos);
    }
}

TEST_CASE("what a peer sends after its request is ignored") {
    stream_server server(anywhere);
    server.show(at_step(1));
    peer watcher(server.port());
    watcher.send(stream_request() + get("/", "evil.example") + std::string(32, '\0'));
    CHECK(next_event(watcher)->step == 1);
    watcher.send(std::string(8192, 'x'));
    server.show(at_step(2));
    CHECK(next_event(watcher)->step == 2);
}

TEST_CASE("as many connections as the limit says, the others are closed at once") {
    monitor::stream_limits limits;
    limits.connections = 8;
    limits.request = std::chrono::hours(1);
    stream_server server(anywhere, limits);
    server.show(at_step(1));
    std::vector<std::unique_ptr<peer>> idle;
    for (std::size_t i = 0; i < 200; ++i) {
        auto other = std::make_unique<peer>(server.port());
        if (i >= limits.connections)
            CHECK(other->read_rest().empty());
        else
            idle.push_back(std::move(other));
    }
    idle.back()->send(stream_request());
    CHECK(next_event(*idle.back())->step == 1);  // it was held all the time
    idle.clear();
    CHECK(still_serves(server));
}

TEST_CASE("a connection that asks for nothing is closed after a time") {
    monitor::stream_limits limits;
    limits.request = std::chrono::milliseconds(50);
    stream_server server(anywhere, limits);
    server.show(at_step(1));
    std::vector<std::unique_ptr<peer>> idle;
    for (int i = 0; i < 200; ++i) idle.push_back(std::make_unique<peer>(server.port()));
    idle.front()->send("GET /api/stream HTTP/1.1\r\n");
    for (const auto& other : idle) CHECK(other->read_rest().empty());
    CHECK(still_serves(server));
}

TEST_CASE("connections leave the run three quarters of the files that it may open") {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit few = before;
    few.rlim_cur = 60;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    const std::shared_ptr<void> restored(nullptr, [&](void*) { ::setrlimit(RLIMIT_NOFILE, &before); });
    monitor::stream_limits limits;
    limits.request = std::chrono::hours(1);
    stream_server server(anywhere, limits);
    std::vector<std::unique_ptr<peer>> held;
    for (int i = 0; i < 15; ++i) {
        held.push_back(std::make_unique<peer>(server.port()));
        held.back()->send(stream_request());
        CHECK(held.back()->read_until("\r\n\r\n").starts_with("HTTP/1.1 200 "));
    }
    CHECK(peer(server.port()).read_rest().empty());
}

TEST_CASE("a port in use is refused in one line") {
    stream_server first(anywhere);
    const auto text = refusal([&] { stream_server second({"127.0.0.1", first.port()}); });
    CHECK(text.starts_with("monitor.address: 127.0.0.1:" + std::to_string(first.port()) + " can't be used ("));
    CHECK(text.ends_with("); is another run there? choose another port"));
}

TEST_CASE("only the loopback can be listened at") {
    CHECK_FALSE(refusal([] { stream_server server({"0.0.0.0", 0}); }).empty());
    CHECK_FALSE(refusal([] { stream_server server({"example.org", 0}); }).empty());
    stream_server server({"localhost", 0});
    server.show(at_step(1));
    CHECK(still_serves(server));
}

TEST_CASE("at the end every watcher gets the last value, and a lazy one holds nobody up") {
    monitor::stream_limits limits;
    limits.farewell = std::chrono::milliseconds(100);
    limits.write = std::chrono::hours(1);
    auto server = std::make_unique<stream_server>(anywhere, limits);
    server->show(at_step(1));
    peer watcher(server->port()), asking(server->port()), lazy(server->port(), 4096);
    watcher.send(stream_request());
    lazy.send(stream_request());
    CHECK(next_event(watcher)->step == 1);
    CHECK(next_event(lazy)->step == 1);
    server->show(at_step(2, 50'000));
    CHECK(next_event(watcher)->step == 2);
    server->show(at_step(3));
    server.reset();
    CHECK(next_event(watcher)->step == 3);
    CHECK_FALSE(next_event(watcher));
    CHECK(asking.read_rest().empty());
}

TEST_CASE("only a watcher with a value under way is waited for at the end") {
    monitor::stream_limits limits;
    limits.farewell = limits.request = std::chrono::hours(1);
    auto server = std::make_unique<stream_server>(anywhere, limits);
    peer asking(server->port()), watcher(server->port());
    asking.send("GET /api/");
    watcher.send(stream_request());
    watcher.read_until("\r\n\r\n");
    server.reset();
    CHECK(watcher.read_rest().empty());
    CHECK(asking.read_rest().empty());
}

TEST_CASE("a value of any size that was shown last arrives whole") {
    auto server = std::make_unique<stream_server>(anywhere);
    peer watcher(server->port());
    watcher.send(stream_request());
    watcher.read_until("\r\n\r\n");
    server->show(at_step(9, 80'000));  // more than the system holds, so it is still being written when the end comes
    std::thread ending([&] { server.reset(); });
    const auto seen = next_event(watcher);
    ending.join();
    REQUIRE(seen);
    CHECK(seen->radii.size() == 80'000);
    CHECK_FALSE(next_event(watcher));
}
