#include "run/ranks/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "run/ranks/handshake.hpp"
#include "run/ranks/link.hpp"
#include "run/ranks/processes.hpp"
#include "run/ranks/rendezvous.hpp"

namespace rldp::ranks {

namespace {

/// Bytes for one rank before the next has its turn, so that none waits for a slower one.
constexpr std::size_t block = 1 << 18;

std::vector<link> open_links(const place& where, const privacy::cluster_secret& secret) {
    if (where.launcher > 0) return inherited_links(where);
    if (where.rank == 0) return meet_all(where, secret);
    std::vector<link> out;
    out.push_back(meet_first(where, secret));
    return out;
}

std::string trouble_line(const place& where, std::chrono::seconds timeout, heartbeat::trouble what) {
    constexpr auto resumable = "the run can be resumed, with any number of ranks";
    if (what == heartbeat::trouble::lost)
        return fmt::format("rank {} of {}: {}; {}", where.rank, where.ranks, gone, resumable);
    return fmt::format("rank {} of {}: another rank has been silent for {} s, or the network between them is cut; {}",
                       where.rank, where.ranks, timeout.count(), resumable);
}

std::span<char> view_bytes(std::span<std::int64_t> numbers) {
    return {reinterpret_cast<char*>(numbers.data()), numbers.size_bytes()};
}

}  // namespace

struct wire::inside {
    place where;
    std::vector<link> links;  ///< on rank 0 to each other rank, in their order; elsewhere to rank 0
    std::unique_ptr<heartbeat> beats;

    bool first() const { return where.rank == 0; }

    void send(const link& to, std::span<const char> bytes, moment until = whenever) const {
        if (!send_all(to.words, bytes, until)) fail();
    }
    void receive(const link& from, std::span<char> bytes, moment until = whenever) const {
        if (!receive_all(from.words, bytes, until)) fail();
    }

    [[noreturn]] void fail() const {
        const auto* const how = errno == 0 ? "its connection was closed" : std::strerror(errno);
        throw peer_error(fmt::format("rank {} of {}: {} ({}). The run can be resumed, with any number of ranks",
                                     where.rank, where.ranks, gone, how));
    }

    /// Each has said that it is here before any hears that all are.
    void come_together(moment until) const {
        char here = 0;
        for (const auto& each : links)
            if (first())
                receive(each, {&here, 1}, until);
            else
                send(each, {&here, 1}, until);
        for (const auto& each : links)
            if (first())
                send(each, {&here, 1}, until);
            else
                receive(each, {&here, 1}, until);
    }
};

wire::wire(const place& where, const privacy::cluster_secret& secret, std::chrono::seconds timeout,
           const on_silence& silent)
    : inside_(new inside{where, open_links(where, secret), nullptr}) {
    inside_->come_together(std::chrono::steady_clock::now() + where.patience);
    inside_->beats = std::make_unique<heartbeat>(
        inside_->links, timeout,
        [where, timeout, silent](heartbeat::trouble what) { silent(trouble_line(where, timeout, what)); });
}

wire::~wire() = default;

void wire::leave() {
    inside_->beats->leaving();
    try {
        inside_->come_together(whenever);
    } catch (const peer_error&) {  // who is gone is missed no more
    }
    inside_->beats.reset();
}

std::vector<std::string> wire::hosts() const {
    if (!inside_->first()) return {};
    std::vector<std::string> out{""};
    for (const auto& each : inside_->links) {
        address from{{}, sizeof(sockaddr_storage)};
        std::array<char, NI_MAXHOST> name{};
        const bool known =
            ::getpeername(each.words.get(), reinterpret_cast<sockaddr*>(&from.where), &from.length) == 0 &&
            ::getnameinfo(from.get(), from.length, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST) == 0;
        std::string host = known ? name.data() : "";
        if (host.starts_with("::ffff:")) host.erase(0, std::string_view("::ffff:").size());  // IPv4, as a door of both
        out.push_back(is_here(host) ? "" : host);
    }
    return out;
}

void wire::broadcast(std::span<char> bytes) {
    if (!inside_->first()) return inside_->receive(inside_->links.front(), bytes);
    for (std::size_t at = 0; at < bytes.size(); at += block)
        for (const auto& each : inside_->links)
            inside_->send(each, bytes.subspan(at, std::min(block, bytes.size() - at)));
}

std::string wire::gather(const std::string& mine) {
    std::string out(mine.size() * inside_->where.ranks, '\0');
    if (!inside_->first())
        inside_->send(inside_->links.front(), mine);
    else {
        std::copy(mine.begin(), mine.end(), out.begin());
        auto rest = std::span(out).subspan(mine.size());
        for (const auto& each : inside_->links) {
            inside_->receive(each, rest.first(mine.size()));
            rest = rest.subspan(mine.size());
        }
    }
    broadcast(out);
    return out;
}

void wire::sum(std::span<std::int64_t> numbers) {
    if (!inside_->first()) return inside_->send(inside_->links.front(), view_bytes(numbers));
    constexpr std::size_t at_a_time = block / sizeof(std::int64_t);
    std::vector<std::int64_t> theirs(std::min(at_a_time, numbers.size()));
    for (std::size_t at = 0; at < numbers.size(); at += at_a_time)
        for (const auto& each : inside_->links) {
            const auto some = numbers.subspan(at, std::min(at_a_time, numbers.size() - at));
            inside_->receive(each, view_bytes(std::span(theirs).first(some.size())));
            for (std::size_t j = 0; j < some.size(); ++j)  // unsigned: modulo 2⁶⁴
                some[j] = static_cast<std::int64_t>(static_cast<std::uint64_t>(some[j]) +
                                                    static_cast<std::uint64_t>(theirs[j]));
        }
}

}  // namespace rldp::ranks
