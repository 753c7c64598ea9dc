#include "tests/faults/shim/plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <sstream>

#include "tests/faults/shim/journal.hpp"

namespace rldp::testing::shim {

namespace {

struct order {
    std::string kind, path, action;
    long number = 0;
    std::atomic<long> seen{0};
};

std::string setting(const char* name) {
    const char* text = std::getenv(name);
    return text ? text : "";
}

/// A deque: an atomic doesn't move.
std::deque<order> parse(const std::string& text) {
    std::deque<order> out;
    std::istringstream all(text);
    for (std::string one; std::getline(all, one, ',');) {
        if (one.empty()) continue;
        std::istringstream parts(one);
        auto& read = out.emplace_back();
        std::string number;
        std::getline(parts, read.kind, ':');
        std::getline(parts, read.path, ':');
        std::getline(parts, number, ':');
        std::getline(parts, read.action, ':');
        read.number = std::atol(number.c_str());
    }
    return out;
}

int error_named(const std::string& name) {
    static const std::pair<const char*, int> known[] = {{"EIO", EIO},     {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT},
                                                        {"EINTR", EINTR}, {"EACCES", EACCES}, {"EMFILE", EMFILE}};
    for (const auto& [text, value] : known)
        if (name == text) return value;
    return 0;
}

}  // namespace

bool watches(const std::string& path) {
    static const std::string top = setting("RLDP_FAULT_BELOW"), below = top + "/";
    return !top.empty() && (path == top || path.starts_with(below));
}

decision decide(const char* kind, const std::string& path) {
    static auto orders = parse(setting("RLDP_FAULT"));
    decision out;
    for (auto& one : orders) {
        if ((one.kind != kind && one.kind != "any") || path.find(one.path) == std::string::npos) continue;
        const auto number = ++one.seen;
        if (one.number != 0 && one.number != number) continue;
        out.error = error_named(one.action);
        out.half = one.action == "short";
        out.drop = one.action == "drop";
        out.die_before = one.action == "die-before";
        out.die_after = one.action == "die-after";
    }
    return out;
}

std::size_t room_for(std::size_t bytes) {
    static const std::string limit = setting("RLDP_FAULT_ROOM");
    if (limit.empty()) return bytes;
    static std::atomic<long long> left{std::atoll(limit.c_str())};
    const auto wanted = static_cast<long long>(bytes);
    const auto before = left.fetch_sub(wanted);
    return static_cast<std::size_t>(std::clamp(before, 0LL, wanted));
}

void die() {
    const auto order = in_order();  // no other thread is between a call and its record
    ::kill(::getpid(), SIGKILL);
    for (;;) ::pause();
}

}  // namespace rldp::testing::shim
