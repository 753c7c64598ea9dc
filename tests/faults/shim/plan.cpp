#include "tests/faults/shim/plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
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

/// What the environment says.
struct plan {
    std::string top = setting("RLDP_FAULT_BELOW");
    std::deque<order> orders = parse(setting("RLDP_FAULT"));
    bool limited = !setting("RLDP_FAULT_ROOM").empty();
    std::atomic<long long> room{std::atoll(setting("RLDP_FAULT_ROOM").c_str())};
    std::atomic<std::uint32_t> jumps{static_cast<std::uint32_t>(std::atol(setting("RLDP_FAULT_CLOCK").c_str()))};
    bool clock_jumps = jumps != 0;
};

/// Read at the first call, which may come before any constructor has run.
std::unique_ptr<plan>& current() {
    static auto out = std::make_unique<plan>();
    return out;
}

}  // namespace

void obey() {
    current() = std::make_unique<plan>();
}

bool watches(const std::string& path) {
    const auto& top = current()->top;
    return !top.empty() && path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/');
}

decision decide(const char* kind, const std::string& path) {
    decision out;
    for (auto& one : current()->orders) {
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
    if (!current()->limited) return bytes;
    const auto wanted = static_cast<long long>(bytes);
    const auto before = current()->room.fetch_sub(wanted);
    return static_cast<std::size_t>(std::clamp(before, 0LL, wanted));
}

long clock_error() {
    if (!current()->clock_jumps) return 0;
    constexpr std::uint32_t odd = 2654435761, step = 40503;  // Knuth's multiplicative hash of the reading's number
    constexpr long years = 20L * 365 * 86400;
    return static_cast<long>((current()->jumps += step) * odd) % years * (current()->jumps % 2 == 0 ? 1 : -1);
}

void die() {
    const auto order = in_order();  // no other thread is between a call and its record
    ::kill(::getpid(), SIGKILL);
    for (;;) ::pause();
}

}  // namespace rldp::testing::shim
