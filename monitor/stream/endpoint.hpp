#pragma once
// Where a run is watched: an address of this machine's loopback.
#include <cstdint>
#include <string>

namespace rldp::monitor {

struct endpoint {
    std::string host;  ///< 127.0.0.1, localhost or ::1
    std::uint16_t port = 0;
};

/// "127.0.0.1:4242", "[::1]:4242".
std::string to_string(const endpoint& where);

/// Errors: bad_input for anything but a loopback HOST:PORT.
endpoint loopback_endpoint(const std::string& address);

}  // namespace rldp::monitor
