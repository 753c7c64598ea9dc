#include "config/base/error.hpp"
#include "monitor/stream/endpoint.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using rldp::monitor::loopback_endpoint;

TEST_CASE("a monitor address is a loopback HOST:PORT, or refused in one line") {
    CHECK(loopback_endpoint("127.0.0.1:4242").port == 4242);
    CHECK(loopback_endpoint("localhost:1").host == "localhost");
    CHECK(loopback_endpoint("[::1]:1").host == "::1");
    for (const auto* wrong : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:12x"})
        CHECK_THROWS_AS(loopback_endpoint(wrong), rldp::error);
    CHECK(refusal([] { loopback_endpoint("0.0.0.0:4242"); }).find("--dashboard (monitor.http)") != std::string::npos);
}

TEST_CASE("an endpoint is written as it is read") {
    for (const auto* address : {"127.0.0.1:4242", "localhost:1", "[::1]:65535"})
        CHECK(to_string(loopback_endpoint(address)) == address);
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
