#pragma once
// Ports of 127.0.0.1, from a stranger's side.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <stdexcept>

#include "base/descriptor.hpp"

namespace rldp::testing {

inline sockaddr_in loopback_at(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    return at;
}

/// One that nobody listens at just now.
inline std::uint16_t free_port() {
    const descriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto at = loopback_at(0);
    socklen_t length = sizeof at;
    if (::bind(probe.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 ||
        ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&at), &length) != 0)
        throw std::runtime_error("no port on 127.0.0.1");
    return ntohs(at.sin_port);
}

inline descriptor listening_at(std::uint16_t port) {
    descriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto at = loopback_at(port);
    if (::bind(out.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(out.get(), 16) != 0)
        throw std::runtime_error("the port is taken");
    return out;
}

/// A connection; none where nobody listens.
inline descriptor connected_to(std::uint16_t port) {
    descriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto at = loopback_at(port);
    if (::connect(out.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return {};
    return out;
}

}  // namespace rldp::testing
