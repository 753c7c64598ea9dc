#include "monitor/stream/endpoint.hpp"

#include <charconv>
#include <string_view>

#include "config/base/error.hpp"

namespace rldp::monitor {

std::string to_string(const endpoint& where) {
    const bool bare_v6 = where.host.find(':') != std::string::npos;
    return (bare_v6 ? "[" + where.host + "]" : where.host) + ":" + std::to_string(where.port);
}

endpoint loopback_endpoint(const std::string& address) {
    const auto colon = address.rfind(':');
    const auto host = address.substr(0, colon);
    const auto digits = colon == std::string::npos ? std::string_view{} : std::string_view(address).substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (wrong != std::errc{} || end != digits.data() + digits.size() || port == 0)
        refuse("monitor.address: '" + address +
               "' is not HOST:PORT with a port of 1 to 65535; for example 127.0.0.1:4242");
    if (host != "127.0.0.1" && host != "localhost" && host != "[::1]")
        refuse("monitor.address: " + host +
               " is not this machine's loopback; monitoring over a network needs monitor.tls, which "
               "this version does not have; use 127.0.0.1");
    return {host == "[::1]" ? "::1" : host, port};
}

}  // namespace rldp::monitor
