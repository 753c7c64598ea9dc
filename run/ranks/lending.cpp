#include "run/ranks/lending.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "run/ranks/wire.hpp"

namespace rldp::ranks {

namespace {

constexpr std::size_t overhead = privacy::meeting::overhead;
/// Bytes that are sealed at a time.
constexpr std::size_t most_at_once = std::size_t{1} << 20;

/// Who says it to whom: unlike any rank, as which a team speaks, and unlike any other stream's direction.
std::uint64_t direction(std::size_t from, std::size_t to, bool answers) {
    return from + ((std::uint64_t{to} + 1) << 20) + (std::uint64_t{answers} << 40);
}

/// Calls use(some) with the bytes in order, so many at a time.
template <class Byte, class Use>
bool by_pieces(std::span<Byte> bytes, const Use& use) {
    for (std::size_t at = 0; at < bytes.size(); at += most_at_once)
        if (!use(bytes.subspan(at, std::min(most_at_once, bytes.size() - at)))) return false;
    return true;
}

}  // namespace

lending::lending(const place& where, std::shared_ptr<const privacy::meeting> meeting, mesh streams, shelf has)
    : where_(where),
      meeting_(std::move(meeting)),
      streams_(std::move(streams)),
      has_(std::move(has)),
      asked_(where.ranks),
      received_(where.ranks),
      sealed_(overhead + most_at_once) {
    for (std::size_t rank = 0; rank < where.ranks; ++rank)
        if (rank != where.rank) threads_.emplace_back([this, rank] { serve(rank); });
}

lending::~lending() {
    for (const auto* const streams : {&streams_.asking, &streams_.asked})
        for (const auto& each : *streams)
            if (each) ::shutdown(each.get(), SHUT_RDWR);
    for (auto& each : threads_) each.join();
}

void lending::serve(std::size_t to) const {
    const auto& socket = streams_.asked[to];
    const auto asks = direction(to, where_.rank, false), answers = direction(where_.rank, to, true);
    std::uint64_t number = 0, heard = 0, sent = 0;
    std::vector<char> sealed(overhead + most_at_once);
    const auto request = std::span(sealed).first(overhead + sizeof number);
    const auto send = [&](std::span<const char> some) {
        const auto out = std::span(sealed).first(overhead + some.size());
        meeting_->seal_into(out, some, answers, ++sent);
        return send_all(socket, out);
    };
    try {
        // Who asks for what it was not told of, or not in its own words, is not heard again; it ends by itself, as it
        // does where this rank is gone.
        while (receive_all(socket, request) &&
               meeting_->open_into({reinterpret_cast<char*>(&number), sizeof number}, request, asks, ++heard)) {
            const auto found = has_(number);
            for (const auto part : found.parts)
                if (!by_pieces(part, send)) return;
        }
    } catch (const std::exception&) {
    }
    ::shutdown(socket.get(), SHUT_RDWR);
}

void lending::borrow(std::size_t from, std::uint64_t number, std::span<const std::span<char>> parts) {
    const auto& socket = streams_.asking.at(from);
    const auto asks = direction(where_.rank, from, false), answers = direction(from, where_.rank, true);
    const auto fail = [&] {
        const auto* const how = errno == 0 ? "its connection was closed" : std::strerror(errno);
        throw peer_error(
            fmt::format("rank {} of {}: {}: rank {} lends no layers any more ({}). The run can be resumed, with any "
                        "number of ranks",
                        where_.rank, where_.ranks, gone, from, how));
    };
    const auto request = std::span(sealed_).first(overhead + sizeof number);
    meeting_->seal_into(request, {reinterpret_cast<const char*>(&number), sizeof number}, asks, ++asked_[from]);
    if (!send_all(socket, request)) fail();
    for (const auto part : parts)
        by_pieces(part, [&](std::span<char> some) {
            const auto sealed = std::span(sealed_).first(overhead + some.size());
            if (!receive_all(socket, sealed)) fail();
            if (!meeting_->open_into(some, sealed, answers, ++received_[from]))
                throw peer_error(
                    fmt::format("rank {}: a layer that arrived from rank {} is not what it sent; nothing of this step "
                                "is used. The run can be resumed",
                                where_.rank, from));
            return true;
        });
}

}  // namespace rldp::ranks
