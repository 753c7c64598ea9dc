#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "run/ranks/link.hpp"

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

using std::chrono::milliseconds;
using std::chrono::steady_clock;

heartbeat::heartbeat(const std::vector<link>& links, std::chrono::seconds timeout, std::function<void(trouble)> alarm)
    : timeout_(timeout), interval_(std::min(milliseconds(1000), milliseconds(timeout) / 6)), alarm_(std::move(alarm)) {
    for (const auto& each : links) neighbours_.push_back({each.beats, steady_clock::now()});
    thread_ = std::thread([this] { beat(); });
}

heartbeat::~heartbeat() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void heartbeat::leaving() {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
}

/// What came while this rank itself was stopped lies there still, so it is read before anyone is called silent.
void heartbeat::listen(neighbour& to, moment now) {
    std::array<char, 256> some;
    for (;;) {
        const auto got = ::recv(to.beats.get(), some.data(), some.size(), MSG_DONTWAIT);
        if (got > 0)
            to.heard = now;
        else if (got < 0 && errno == EINTR)
            continue;
        else {
            to.closed = got == 0 || errno != EAGAIN;
            return;
        }
    }
}

std::optional<heartbeat::trouble> heartbeat::trouble_at(moment now) {
    for (auto& each : neighbours_) {
        if (each.closed) continue;
        listen(each, now);
        if (each.closed) {
            if (!leaving_) return trouble::lost;
        } else if (now - each.heard >= timeout_ - interval_) {
            return trouble::silent;
        }
    }
    return std::nullopt;
}

void heartbeat::beat() {
    constexpr char byte = 0;
    std::unique_lock lock(mutex_);
    while (!over_) {
        for (const auto& each : neighbours_)  // a full buffer means that the other end does not read
            if (!each.closed) ::send(each.beats.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        changed_.wait_for(lock, interval_, [this] { return over_; });
        if (over_) return;
        const auto found = trouble_at(steady_clock::now());
        if (!found) continue;
        // The calls under way hear of a rank that is gone, and end the run in order.
        const bool ending = found == trouble::lost && changed_.wait_for(lock, grace, [this] { return over_; });
        if (ending) return;
        lock.unlock();
        return alarm_(*found);
    }
}

}  // namespace rldp::ranks
