#pragma once
// How addresses are written.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rldp::monitor {

/// A port of 1 to 65535 in digits.
std::optional<std::uint16_t> parse_port(std::string_view digits);

struct host_and_port {
    std::string_view host;  ///< an IPv6 address keeps its brackets
    std::optional<std::uint16_t> port;
};
/// Of "lab.example:8787", "lab.example", "[::1]:8787", as a Host header has them, too. Nothing where a colon is
/// followed by anything but a port, and for an IPv6 address without brackets.
std::optional<host_and_port> split_host(std::string_view text);

/// "[::1]" as "::1".
std::string without_brackets(std::string_view host);
/// "::1" as "[::1]".
std::string with_brackets(const std::string& host);

/// Whether only this machine can reach it: an address of the loopback, or "localhost".
bool is_loopback(const std::string& host);

}  // namespace rldp::monitor
