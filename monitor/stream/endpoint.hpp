#pragma once
// Where a run is watched, and how such places are written.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rldp::monitor {

struct endpoint {
    std::string host;  ///< 127.0.0.1, localhost or ::1
    std::uint16_t port = 0;
};

/// A port of 1 to 65535 in digits.
std::optional<std::uint16_t> port_from(std::string_view digits);

struct host_and_port {
    std::string_view host;  ///< an IPv6 address keeps its brackets
    std::optional<std::uint16_t> port;
};
/// Of "lab.example:8787", "lab.example", "[::1]:8787", as a Host header has them, too. Nothing where a colon is
/// followed by anything but a port, and for an IPv6 address without brackets.
std::optional<host_and_port> split_host(std::string_view text);

/// "127.0.0.1:4242", "[::1]:4242".
std::string to_string(const endpoint& where);

/// Errors: bad_input for anything but a loopback HOST:PORT.
endpoint loopback_endpoint(const std::string& address);

}  // namespace rldp::monitor
