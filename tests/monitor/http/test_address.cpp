#include "monitor/http/access.hpp"

#include "monitor/http/server.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using rldp::monitor::to_monitor_config;

TEST_CASE("what a monitor attaches to is a loopback HOST:PORT, or refused in one line") {
    CHECK(to_monitor_config("127.0.0.1:4242").port == 4242);
    CHECK(to_monitor_config("localhost:1").host == "localhost");
    CHECK(to_monitor_config("[::1]:1").host == "::1");
    for (const auto* wrong : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:12x"})
        CHECK(has(refusal([&] { to_monitor_config(wrong); }), "is not HOST:PORT"));
    for (const auto* elsewhere : {"0.0.0.0:4242", "lab.example:4242", "[::]:4242"})
        CHECK(has(refusal([&] { to_monitor_config(elsewhere); }), "--dashboard (monitor.http)"));
}

TEST_CASE("hosts and ports are told apart as Host headers write them") {
    const auto split = [](std::string_view text) {
        const auto parts = rldp::monitor::split_host(text);
        return !parts ? "none" : std::string(parts->host) + " " + (parts->port ? std::to_string(*parts->port) : "-");
    };
    CHECK(split("lab.example:8787") == "lab.example 8787");
    CHECK(split("lab.example") == "lab.example -");
    CHECK(split("[::1]:65535") == "[::1] 65535");
    CHECK(split("[::1]") == "[::1] -");
    for (const char* wrong : {"a:", "a:0", "a:65536", "a:8x", "a:-1", "a: 1", "::1", "a:1:2", "[::1]:", "[::1]x:1"})
        CHECK(split(wrong) == "none");
}
