#pragma once
// Names of machines as sockets take them.
#include <netdb.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "config/base/descriptor.hpp"

namespace rldp::ranks {

struct address {
    sockaddr_storage where{};
    socklen_t length = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&where); }
};

/// Whether a name means this machine itself.
inline bool is_here(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// Of a host, or, where it is empty, all that this machine listens at. None, with a reason, where the name is unknown.
inline std::vector<address> find_addresses(const std::string& host, std::uint16_t port, std::string& reason) {
    addrinfo wanted{}, *found = nullptr;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    const int wrong =
        ::getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &wanted, &found);
    if (wrong != 0) {
        reason = ::gai_strerror(wrong);
        return {};
    }
    std::vector<address> out;
    for (const auto* each = found; each != nullptr; each = each->ai_next) {
        address one{{}, each->ai_addrlen};
        std::memcpy(&one.where, each->ai_addr, each->ai_addrlen);
        out.push_back(one);
    }
    ::freeaddrinfo(found);
    return out;
}

inline descriptor stream_socket(const address& at) {
    return descriptor(::socket(at.where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace rldp::ranks
