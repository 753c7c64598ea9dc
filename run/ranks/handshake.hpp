#pragma once
// How a rank and rank 0 find each other and what they say first: addresses, ports, the handshake.
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "privacy/keys/cluster_secret.hpp"
#include "run/ranks/processes.hpp"

namespace rldp::ranks {

// Addresses. Names of machines as sockets take them.

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

// Agent's store. torchrun's agent keeps MASTER_PORT for a store of its own (c10d's): there rank 0 says where it listens
// instead.

void tell_port(const place& where, std::uint16_t port);
/// Waits until rank 0 has told it. Errors, of both: failed where the agent does not answer within place.patience.
std::uint16_t hear_port(const place& where);

// Handshake. What a rank and rank 0 say to each other before anything else, each of a fixed length:
//   rank 0    a word that names this protocol, 32 random bytes
//   the rank  who it is, and a proof that it knows the secret: a tag of that and of rank 0's bytes
//   rank 0    its verdict and its number of ranks, and a tag of all this

/// What a connection is for: those of a link, and one on which layers are asked for.
inline constexpr std::uint8_t words_stream = 0, beats_stream = 1, layers_stream = 2;

struct caller {
    static constexpr std::size_t process_bytes = 16;
    std::uint32_t rank = 0, ranks = 0;
    std::uint8_t stream = 0;                    ///< one of those below
    std::array<char, process_bytes> process{};  ///< random; the same for both streams of a process
};

enum class verdict : char {
    welcome = 'w',
    stranger = 's',    ///< its tag is not made with this secret
    miscounted = 'm',  ///< another number of ranks
    twice = 't',       ///< another process has said that it is this rank
};

struct answer_heard {
    verdict how;
    std::uint32_t ranks;
};

inline constexpr std::size_t greeting_bytes = 40, knock_bytes = 57, answer_bytes = 37;

std::string greeting();
/// Whether a rank of this protocol says so.
bool is_greeting(std::string_view said);

std::string knock(const privacy::cluster_secret& secret, std::string_view greeting, const caller& who);
/// Nothing where the tag is not of this secret and greeting.
std::optional<caller> heard_knock(const privacy::cluster_secret& secret, std::string_view greeting,
                                  std::string_view said);

std::string answer(const privacy::cluster_secret& secret, std::string_view greeting, std::string_view knock,
                   verdict how, std::uint32_t ranks);
/// Nothing where the tag is not of this secret, greeting and knock; but anyone may say `stranger`.
std::optional<answer_heard> heard_answer(const privacy::cluster_secret& secret, std::string_view greeting,
                                         std::string_view knock, std::string_view said);

}  // namespace rldp::ranks
