#include "actors/run/ranks/link.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace rldp::ranks {

namespace {

/// Calls `some` with what is left until nothing is.
template <class Byte, class Call>
bool to_the_end(const descriptor& socket, std::span<Byte> bytes, short events, moment until, Call some) {
    while (!bytes.empty()) {
        errno = 0;
        const auto done = some(bytes);
        const bool may_wait = done < 0 && (errno == EAGAIN || errno == EINTR);
        if (done > 0)
            bytes = bytes.subspan(static_cast<std::size_t>(done));
        else if (!may_wait || (errno == EAGAIN && !ready(socket, events, until)))
            return false;
    }
    return true;
}

}  // namespace

int milliseconds_until(moment until) {
    if (until == whenever) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

bool ready(const descriptor& socket, short events, moment until) {
    for (;;) {
        pollfd one{socket.get(), events, 0};
        const int found = ::poll(&one, 1, milliseconds_until(until));
        if (found > 0) return true;
        if (found == 0) errno = ETIMEDOUT;
        if (found == 0 || errno != EINTR) return false;
    }
}

bool send_all(const descriptor& to, std::span<const char> bytes, moment until) {
    const int wait = until == whenever ? 0 : MSG_DONTWAIT;
    return to_the_end(to, bytes, POLLOUT, until, [&](std::span<const char> rest) {
        return ::send(to.get(), rest.data(), rest.size(), MSG_NOSIGNAL | wait);
    });
}

bool receive_all(const descriptor& from, std::span<char> bytes, moment until) {
    const int wait = until == whenever ? MSG_WAITALL : MSG_DONTWAIT;
    return to_the_end(from, bytes, POLLIN, until,
                      [&](std::span<char> rest) { return ::recv(from.get(), rest.data(), rest.size(), wait); });
}

void settle(const descriptor& socket) {
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
}

}  // namespace rldp::ranks
