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
    CHECK(refusal([] { loopback_endpoint("0.0.0.0:4242"); }).find("monitor.tls") != std::string::npos);
}

TEST_CASE("an endpoint is written as it is read") {
    for (const auto* address : {"127.0.0.1:4242", "localhost:1", "[::1]:65535"})
        CHECK(to_string(loopback_endpoint(address)) == address);
}
