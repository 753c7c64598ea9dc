// The dashboard's server over sockets: what peers can do to it, and what they get.
#include "monitor/http/server.hpp"

#include <openssl/ssl.h>
#include <sys/resource.h>

#include "base/files.hpp"
#include "monitor/http/self_signed.hpp"
#include "tests/catch.hpp"
#include "tests/monitor/at_step.hpp"
#include "tests/monitor/peer.hpp"
#include "tests/monitor/watch/made_up_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::monitor;
using namespace rldp::testing;
using std::chrono::milliseconds;

namespace {

http_config quick() {
    http_config out;
    out.limits.request = out.limits.write = milliseconds(300);
    out.limits.idle = milliseconds(500);
    out.limits.tick = milliseconds(20);
    out.limits.heartbeat = milliseconds(100);
    out.limits.wrong_token = milliseconds(50);
    return out;
}

std::string asking(const std::string& target, const std::string& more = {}) {
    return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n";
}

std::string answer(const http_server& from, const std::string& asked) {
    peer one(from.port());
    one.send(asked);
    return one.read_rest();
}

std::string refused(const http_config& how, const std::filesystem::path& root) {
    return refusal([&] { http_server(how, {root}, "1"); });
}

}  // namespace

TEST_CASE("runs are told over HTTP, and as they change over a stream") {
    const scratch_directory scratch;
    make_run(scratch / "a");
    const http_server server(quick(), {scratch / ""}, "1.2.3");
    const auto all = answer(server, asking("/api/runs", "Connection: close\r\n"));
    CHECK(all.starts_with("HTTP/1.1 200"));
    CHECK(has(all, "\"id\":\"a\""));
    CHECK(has(all, "Content-Security-Policy: "));
    peer watcher(server.port());
    watcher.send(asking("/api/stream"));
    CHECK(has(watcher.read_until("\"step\":5"), "text/event-stream"));
    make_run(scratch / "b");  // found by the next search, not by a watcher's asking
    std::filesystem::remove_all(scratch / "a");
    make_run(scratch / "a", {.steps = 6});
    watcher.read_until("\"step\":6");
    watcher.read_until(":\n\n");  // a comment, for nothing changes any more
}

TEST_CASE("what a run says last is seen, however soon its server ends") {
    const scratch_directory scratch;
    make_run(scratch / "a");
    auto how = quick();
    how.limits.tick = milliseconds(60'000);  // nothing but the end makes it look
    auto server = std::make_unique<http_server>(how, std::vector{scratch / "a"}, "1");
    peer watcher(server->port());
    watcher.send(asking("/api/stream"));
    watcher.read_until("retry");
    run_view last;
    last.state = "budget exhausted";
    last.step = 7;
    server->tell(last);
    server.reset();
    CHECK(has(watcher.read_rest(), "\"state\":\"budget exhausted\""));
}

TEST_CASE("a run that has no directory yet is shown by its own word, then by its files") {
    const scratch_directory scratch;
    http_server server(quick(), {}, "1");
    auto run = at_step(0, "a");
    run.state = "starting";
    server.tell(run);
    peer watcher(server.port());
    watcher.send(stream_request());
    CHECK(next_event(watcher)->state == "starting");
    make_run(scratch / "a");
    server.follow(scratch / "a");
    const auto seen = next_event(watcher);
    CHECK(seen->id == "a");
    CHECK(seen->contract);
}

TEST_CASE("a reader that does not read misses values, gets the latest, and holds nobody up") {
    auto how = quick();
    how.limits.write = std::chrono::hours(1);
    how.limits.parting = milliseconds(100);
    auto server = std::make_unique<http_server>(how, std::vector<std::filesystem::path>{}, "1");
    const std::string name(3'000'000, 'x');  // more than the system holds, and cut by who reads it
    peer lazy(server->port(), 4096), prompt(server->port()), asking(server->port());
    for (auto* one : {&lazy, &prompt}) one->send(stream_request());
    constexpr int last = 8;
    for (int step = 1; step <= last; ++step) {
        server->tell(at_step(step, name));
        prompt.read_until("\"step\":" + std::to_string(step) + ",");  // all came by
    }
    int events = 0;
    std::string rest;
    do {
        rest = lazy.read_until("\"step\":");
        ++events;
        rest = lazy.read_until(",");
    } while (rest != std::to_string(last) + ",");
    CHECK(events <= 3);
    lazy.read_until("\n\n");
    server->tell(at_step(last + 1));
    server.reset();
    CHECK(has(prompt.read_rest(), "\"step\":" + std::to_string(last + 1)));
    CHECK(asking.read_rest().empty());
}

TEST_CASE("a request may come byte by byte, and what a peer sends after one for a stream is ignored") {
    http_server server(quick(), {}, "1");
    server.tell(at_step(1));
    peer watcher(server.port());
    for (const char byte : stream_request()) watcher.send({&byte, 1});
    CHECK(next_event(watcher)->step == 1);
    watcher.send(asking("/", "Host: evil.example\r\n") + std::string(8192, '\0'));
    server.tell(at_step(2));
    CHECK(next_event(watcher)->step == 2);
}

TEST_CASE("several requests go over one connection, and it ends where it is told to or left alone") {
    const scratch_directory scratch;
    const http_server server(quick(), {scratch / ""}, "1");
    peer one(server.port());
    for (int i = 0; i < 3; ++i) {
        one.send(asking("/healthz"));
        one.read_until("ok\n");
    }
    CHECK(one.read_rest().empty());  // idle
    CHECK(has(answer(server, "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              "Content-Length: 3"));
}

TEST_CASE("a stream that is asked for by HEAD is a head alone, and the next request is answered") {
    const scratch_directory scratch;
    make_run(scratch / "a");
    const http_server server(quick(), {scratch / ""}, "1");
    peer one(server.port());
    for (const char* stream : {"/api/stream", "/api/runs/a/stream"}) {
        one.send("HEAD " + std::string(stream) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        const auto head = one.read_until("\r\n\r\n");
        CHECK(head.starts_with("HTTP/1.1 200"));
        CHECK(has(head, "text/event-stream"));
        CHECK_FALSE(has(head, "Content-Length"));
        CHECK(head.ends_with("\r\n\r\n"));
    }
    one.send(asking("/healthz", "Connection: close\r\n"));
    CHECK(one.read_rest().starts_with("HTTP/1.1 200"));
}

TEST_CASE("who sends too much, too slowly, or no HTTP is dropped, and the others are answered") {
    const scratch_directory scratch;
    const http_server server(quick(), {scratch / ""}, "1");
    CHECK(answer(server, asking("/", "X: " + std::string(20'000, 'x') + "\r\n")).starts_with("HTTP/1.1 431"));
    CHECK(answer(server, "POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
              .starts_with("HTTP/1.1 413"));
    CHECK(answer(server, "\x16\x03\x01 hello\r\n\r\n").empty());
    CHECK(answer(server, "GET / HTT").empty());  // and then nothing
    std::string handshake(32, '\0');             // which ended processes that listened with CAF 0.17.6's BASP
    handshake[15] = 3;
    CHECK(answer(server, handshake + std::string(100'000, '\xff')).empty());
    peer(server.port()).reset();
    peer half(server.port());
    half.send("GET /api/str");
    half.reset();
    CHECK(has(answer(server, asking("/healthz", "Connection: close\r\n")), "ok\n"));
    CHECK(answer(server, "GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
              .starts_with("HTTP/1.1 403"));
    CHECK(answer(server, "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 403"));
    CHECK(answer(server, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
              .starts_with("HTTP/1.1 403"));
}

TEST_CASE("connections beyond the most are closed, and room is made when others go") {
    const scratch_directory scratch;
    auto how = quick();
    how.limits.connections = 4;
    how.limits.idle = how.limits.request = milliseconds(60'000);
    const http_server server(how, {scratch / ""}, "1");
    std::vector<std::unique_ptr<peer>> held;
    for (int i = 0; i < 4; ++i) {
        held.push_back(std::make_unique<peer>(server.port()));
        held.back()->send(asking("/healthz"));
        held.back()->read_until("ok\n");
    }
    CHECK(answer(server, asking("/healthz")).empty());
    held.front()->reset();
    held.erase(held.begin());
    std::string found;
    while (found.empty()) found = answer(server, asking("/healthz", "Connection: close\r\n"));
    CHECK(has(found, "ok\n"));
}

TEST_CASE("connections leave the run three quarters of the files that it may open") {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit few = before;
    few.rlim_cur = 60;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    const std::shared_ptr<void> restored(nullptr, [&](void*) { ::setrlimit(RLIMIT_NOFILE, &before); });
    const http_server server(http_config{}, {}, "1");
    std::vector<std::unique_ptr<peer>> held;
    for (int i = 0; i < 15; ++i) {
        held.push_back(std::make_unique<peer>(server.port()));
        held.back()->send(stream_request());
        CHECK(held.back()->read_until("\r\n\r\n").starts_with("HTTP/1.1 200 "));
    }
    CHECK(peer(server.port()).read_rest().empty());
}

TEST_CASE("an address beyond this machine needs TLS and tokens, and what is wrong with a port is said") {
    const scratch_directory scratch;
    auto how = quick();
    how.host = "0.0.0.0";
    CHECK(has(refused(how, scratch / ""), "needs TLS and tokens"));
    make_self_signed(scratch / "tls", "localhost");
    make_tokens(scratch / "tokens");
    how.tls = tls_files{scratch / "tls.pem", scratch / "tls.key", {}};
    CHECK(has(refused(how, scratch / ""), "needs TLS and tokens"));
    how.token_file = scratch / "tokens";
    CHECK(refused(how, scratch / "").empty());
    how = quick();
    how.host = "192.0.2.1";
    CHECK_FALSE(refused(how, scratch / "").empty());
    how.host = "no address";
    CHECK(has(refused(how, scratch / ""), "is no address"));
    how = quick();
    const http_server first(how, {scratch / ""}, "1");
    how.port = first.port();
    CHECK(has(refused(how, scratch / ""), "another program listens there"));
    CHECK(has(refused(quick(), scratch / "nowhere"), "is no directory"));
}

TEST_CASE("certificates and keys that can't be used are named") {
    const scratch_directory scratch;
    make_self_signed(scratch / "a", "localhost");
    make_self_signed(scratch / "b", "127.0.0.1");
    CHECK(has(refusal([&] { make_self_signed(scratch / "a", "localhost"); }), "exists already"));
    CHECK(has(refusal([&] { make_self_signed(scratch / "c", "no/host"); }), "neither a name nor an address"));
    const auto with = [&](const char* certificate, const char* key) {
        auto how = quick();
        how.tls = tls_files{scratch / certificate, scratch / key, {}};
        return refused(how, scratch / "");
    };
    CHECK(with("a.pem", "a.key").empty());
    CHECK(has(with("a.pem", "b.key"), "is not the key of"));
    CHECK(has(with("nowhere.pem", "a.key"), "nowhere.pem"));
    CHECK(has(with("a.pem", "nowhere.key"), "nowhere.key"));
    CHECK(has(with("a.key", "a.key"), "a.key: can't be read as a PEM certificate"));
    CHECK(has(with("a.pem", "a.pem"), "a.pem: can't be read as a PEM private key"));
}
