#include "monitor/stream/endpoint.hpp"

#include <charconv>
#include <string_view>

#include "config/base/error.hpp"

namespace rldp::monitor {

std::string to_string(const endpoint& where) {
    const bool bare_v6 = where.host.find(':') != std::string::npos;
    return (bare_v6 ? "[" + where.host + "]" : where.host) + ":" + std::to_string(where.port);
}

std::optional<std::uint16_t> port_from(std::string_view digits) {
    std::uint16_t port = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (wrong != std::errc{} || end != digits.data() + digits.size() || port == 0) return std::nullopt;
    return port;
}

std::optional<host_and_port> split_host(std::string_view text) {
    const auto colon = text.rfind(':');
    host_and_port out{text, std::nullopt};
    if (colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos) {
        out = {text.substr(0, colon), port_from(text.substr(colon + 1))};
        if (!out.port) return std::nullopt;
    }
    const bool bracketed = out.host.starts_with('[') && out.host.ends_with(']');
    if (!bracketed && out.host.find(':') != std::string_view::npos) return std::nullopt;
    return out;
}

endpoint loopback_endpoint(const std::string& address) {
    const auto parts = split_host(address);
    if (!parts || !parts->port)
        refuse("monitor.address: '" + address +
               "' is not HOST:PORT with a port of 1 to 65535; for example 127.0.0.1:4242");
    const auto host = std::string(parts->host);
    if (host != "127.0.0.1" && host != "localhost" && host != "[::1]")
        refuse("monitor.address: " + host +
               " is not this machine's loopback; use 127.0.0.1, or --dashboard (monitor.http), which others can reach "
               "over TLS (docs/monitoring.md)");
    return {host == "[::1]" ? "::1" : host, *parts->port};
}

}  // namespace rldp::monitor
