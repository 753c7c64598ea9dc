#include "actors/run/ranks/heartbeat.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rldp::ranks {

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
