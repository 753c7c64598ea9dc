#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <future>
#include <list>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "run/ranks/handshake.hpp"
#include "run/ranks/link.hpp"
#include "run/ranks/rendezvous.hpp"
#include "run/ranks/wire.hpp"

namespace rldp::ranks {

namespace {

using std::chrono::steady_clock;

/// Somebody who has not shown yet that it is a rank.
struct visitor {
    descriptor socket;
    moment leaves;
    std::string greeted, said;
};

/// A rank's own, where every other one is let in once for each of `streams`.
class door {
  public:
    struct seat {
        std::vector<descriptor> streams;
        std::array<char, caller::process_bytes> process{};
    };

    door(const place& where, const privacy::cluster_secret& secret, std::vector<std::uint8_t> streams)
        : where_(where),
          secret_(secret),
          until_(steady_clock::now() + where.patience),
          streams_(std::move(streams)),
          seats_(where.ranks) {
        for (auto& each : seats_) each.streams.resize(streams_.size());
        open();
        if (where.store_elsewhere) tell_port(where, port());
    }

    /// Of all ranks in their order; this one's stays empty.
    std::vector<seat> all() {
        while (!missing().empty()) {
            if (steady_clock::now() >= until_) give_up();
            look();
        }
        return std::move(seats_);
    }

    std::uint16_t port() const {
        address own{{}, sizeof(sockaddr_storage)};
        ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&own.where), &own.length);
        return ntohs(reinterpret_cast<const sockaddr_in&>(own.where).sin_port);  // where sockaddr_in6 has it, too
    }

  private:
    /// Who has left again leaves its seat to another process.
    static bool is_there(const descriptor& stream) { return stream && !ready(stream, POLLRDHUP, steady_clock::now()); }

    /// At all addresses, for a machine's name may be known to it by another; where rank 0 is to be found by its own
    /// machine only, for that machine only.
    void open() {
        std::string reason = "no address";
        const bool here = is_here(where_.host);
        auto at = find_addresses(here ? where_.host : "", where_.store_elsewhere ? 0 : where_.port, reason);
        // All of IPv6 includes IPv4; localhost is better known as the latter.
        std::stable_partition(at.begin(), at.end(),
                              [here](const address& each) { return (each.where.ss_family == AF_INET6) != here; });
        for (const auto& each : at) {
            listener_ = stream_socket(each);
            const int yes = 1, no = 0;
            ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
            ::setsockopt(listener_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
            if (::bind(listener_.get(), each.get(), each.length) == 0 && ::listen(listener_.get(), SOMAXCONN) == 0)
                return;
            reason = std::strerror(errno);
            refuse_unless(
                errno != EADDRINUSE,
                fmt::format("MASTER_PORT: port {} of this machine is taken by another program; give all ranks "
                            "another one",
                            where_.port));
        }
        throw error(errc::failed,
                    fmt::format("rank {} can't listen at {}:{}: {}", where_.rank, where_.host, where_.port, reason));
    }

    std::vector<std::size_t> missing() const {
        std::vector<std::size_t> out;
        for (std::size_t i = 0; i < seats_.size(); ++i)
            if (i != where_.rank && !std::all_of(seats_[i].streams.begin(), seats_[i].streams.end(), is_there))
                out.push_back(i);
        return out;
    }

    [[noreturn]] void give_up() const {
        const auto who = missing();
        throw error(errc::failed,
                    fmt::format("rank {} of {}: rank{} {} did not come to {}:{} within {} s{}", where_.rank,
                                where_.ranks, who.size() == 1 ? "" : "s", fmt::join(who, ", "), where_.host,
                                where_.port, where_.patience.count(),
                                strangers_ == 0
                                    ? ""
                                    : fmt::format("; {} refused for another secret (cluster.secret) or none",
                                                  strangers_ == 1 ? "1 connection was"
                                                                  : fmt::format("{} connections were", strangers_))));
    }

    /// Waits for the next thing that happens at the door, and deals with it.
    void look() {
        std::vector<pollfd> sockets{{listener_.get(), POLLIN, 0}};
        auto first = until_;
        for (const auto& each : visitors_) {
            sockets.push_back({each.socket.get(), POLLIN, 0});
            first = std::min(first, each.leaves);
        }
        if (::poll(sockets.data(), sockets.size(), milliseconds_until(first)) <= 0)
            for (auto& each : sockets) each.revents = 0;
        const auto now = steady_clock::now();
        auto each = visitors_.begin();
        for (std::size_t i = 1; i < sockets.size(); ++i) {
            const bool over = sockets[i].revents != 0 ? hears(*each) : now >= each->leaves;
            each = over ? visitors_.erase(each) : std::next(each);
        }
        if (sockets.front().revents != 0) let_in();
    }

    void let_in() {
        descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
            if (visitors_.empty())
                throw error(errc::failed,
                            fmt::format("rank {} can't take connections: {}", where_.rank, std::strerror(errno)));
            return visitors_.pop_front();
        }
        if (!socket) return;  // who knocked has gone
        if (visitors_.size() == most_strangers) visitors_.pop_front();
        visitors_.push_back({std::move(socket), steady_clock::now() + politeness, greeting(), {}});
        auto& last = visitors_.back();
        if (!send_all(last.socket, last.greeted, steady_clock::now())) visitors_.pop_back();
    }

    /// More of what a visitor says, up to a knock; whether it is done with.
    bool hears(visitor& from) {
        std::array<char, knock_bytes> some;
        const auto got = ::recv(from.socket.get(), some.data(), knock_bytes - from.said.size(), MSG_DONTWAIT);
        if (got <= 0) return got == 0 || (errno != EAGAIN && errno != EINTR);
        from.said.append(some.data(), static_cast<std::size_t>(got));
        if (from.said.size() < knock_bytes) return false;
        const auto who = heard_knock(secret_, from.greeted, from.said);
        const auto how = who ? judge(*who) : verdict::stranger;
        const auto ranks = static_cast<std::uint32_t>(where_.ranks);
        const bool heard =
            send_all(from.socket, answer(secret_, from.greeted, from.said, how, ranks), steady_clock::now());
        if (how == verdict::stranger) ++strangers_;
        if (how == verdict::miscounted) refuse(miscount_line(who->rank, who->ranks, ranks));
        if (how == verdict::twice) refuse(twice_line(who->rank));
        if (how == verdict::welcome && heard) {
            settle(from.socket);
            seats_[who->rank].streams[*find_stream(*who)] = std::move(from.socket);
        }
        return true;
    }

    verdict judge(const caller& who) {
        if (who.ranks != where_.ranks) return verdict::miscounted;
        if (who.rank == where_.rank) return verdict::twice;
        if (who.rank >= seats_.size() || !find_stream(who)) return verdict::stranger;
        auto& its = seats_[who.rank];
        if (its.process == who.process) return verdict::welcome;  // its other stream, or not answered in time
        if (std::any_of(its.streams.begin(), its.streams.end(), is_there)) return verdict::twice;
        its.streams.clear();
        its.streams.resize(streams_.size());
        its.process = who.process;
        return verdict::welcome;
    }

    std::optional<std::size_t> find_stream(const caller& who) const {
        const auto found = std::find(streams_.begin(), streams_.end(), who.stream);
        if (found == streams_.end()) return std::nullopt;
        return static_cast<std::size_t>(found - streams_.begin());
    }

    const place& where_;
    const privacy::cluster_secret& secret_;
    moment until_;
    descriptor listener_;
    std::vector<std::uint8_t> streams_;
    std::vector<seat> seats_;  ///< by rank
    std::list<visitor> visitors_;
    std::size_t strangers_ = 0;
};

}  // namespace

std::string miscount_line(std::size_t rank, std::size_t its, std::size_t ours) {
    return fmt::format(
        "rank {} was started as one of {} ranks, rank 0 as one of {} (WORLD_SIZE); start all with the same", rank, its,
        ours);
}

std::string twice_line(std::size_t rank) {
    return fmt::format("two processes were started as rank {} (RANK); give each a number of its own", rank);
}

std::vector<link> meet_all(const place& where, const privacy::cluster_secret& secret) {
    auto seats = door(where, secret, {words_stream, beats_stream}).all();
    std::vector<link> out;
    for (std::size_t rank = 1; rank < seats.size(); ++rank) {
        auto& streams = seats[rank].streams;
        out.push_back({std::move(streams[0]), std::move(streams[1])});
    }
    return out;
}

// The other side of the door: a rank that looks for rank 0, or for another whose layers it will ask for.

namespace {

using std::chrono::steady_clock;

class visit {
  public:
    /// `where.host` and `where.port` are of rank `whom`.
    visit(const place& where, const privacy::cluster_secret& secret, std::size_t whom = 0)
        : where_(where), secret_(secret), whom_(whom), until_(steady_clock::now() + where.patience) {
        if (where.store_elsewhere) where_.port = hear_port(where);
        const auto random = privacy::meeting::nonce();
        std::copy_n(random.begin(), process_.size(), process_.begin());
    }

    /// A stream of the link, once rank 0 lets it in; `first`, where there is one, shows whether rank 0 is still there.
    descriptor stream(std::uint8_t which, const descriptor* first = nullptr) {
        const caller own{static_cast<std::uint32_t>(where_.rank), static_cast<std::uint32_t>(where_.ranks), which,
                         process_};
        while (steady_clock::now() < until_) {
            for (const auto& at : find_addresses(where_.host, where_.port, reason_))
                if (auto socket = try_at(at, own)) return socket;
            if (first != nullptr && ready(*first, POLLIN, steady_clock::now()))  // it says nothing before all are there
                throw peer_error(fmt::format("rank {} of {}: {}", where_.rank, where_.ranks, gone));
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        throw error(errc::failed,
                    fmt::format("rank {} of {} finds no rank {} at {}:{} within {} s: {}", where_.rank, where_.ranks,
                                whom_, where_.host, where_.port, where_.patience.count(), reason_));
    }

  private:
    /// Nothing, with a reason, where it is to be tried again.
    descriptor try_at(const address& at, const caller& own) {
        const auto until = std::min(until_, steady_clock::now() + politeness);
        auto socket = stream_socket(at);
        const auto failed = [this](const std::string& why) {
            reason_ = why;
            return descriptor();
        };
        if (::connect(socket.get(), at.get(), at.length) != 0) {
            int wrong = errno;
            socklen_t length = sizeof wrong;
            if (wrong == EINPROGRESS && !ready(socket, POLLOUT, until)) return failed(std::strerror(ETIMEDOUT));
            if (wrong == EINPROGRESS) ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &wrong, &length);
            if (wrong != 0) return failed(std::strerror(wrong));
        }
        const auto nothing = fmt::format("what listens there does not answer as rank {} would", whom_);
        std::string greeted(greeting_bytes, '\0'), answered(answer_bytes, '\0');
        if (!receive_all(socket, greeted, until) || !is_greeting(greeted)) return failed(nothing);
        const auto said = knock(secret_, greeted, own);
        if (!send_all(socket, said, until) || !receive_all(socket, answered, until)) return failed(nothing);
        const auto heard = heard_answer(secret_, greeted, said, answered);
        if (!heard) return failed(nothing);
        refuse_unless(
            heard->how != verdict::stranger,
            fmt::format("rank {} of {}: its cluster secret is not the one of rank {} at {}:{}; give every rank "
                        "the same file (cluster.secret)",
                        where_.rank, where_.ranks, whom_, where_.host, where_.port));
        refuse_unless(heard->how != verdict::miscounted, miscount_line(where_.rank, where_.ranks, heard->ranks));
        refuse_unless(heard->how != verdict::twice, twice_line(where_.rank));
        settle(socket);
        return socket;
    }

    place where_;
    const privacy::cluster_secret& secret_;
    std::size_t whom_;
    moment until_;
    std::array<char, caller::process_bytes> process_{};
    std::string reason_ = "no address";
};

}  // namespace

link meet_first(const place& where, const privacy::cluster_secret& secret) {
    visit at(where, secret);
    auto words = at.stream(words_stream);
    auto beats = at.stream(beats_stream, &words);
    return {std::move(words), std::move(beats)};
}

mesh meet_each(const place& where, const privacy::cluster_secret& secret, const announcement& tell) {
    auto own = where;
    own.port = 0;
    own.store_elsewhere = false;
    door entrance(own, secret, {layers_stream});
    const auto others = tell(entrance.port());
    auto coming = std::async(std::launch::async, [&] { return entrance.all(); });
    mesh out;
    for (std::size_t rank = 0; rank < where.ranks; ++rank) {
        out.asking.emplace_back();
        if (rank == where.rank) continue;
        auto there = own;
        there.host = others.at(rank).host;
        there.port = others.at(rank).port;
        out.asking.back() = visit(there, secret, rank).stream(layers_stream);
    }
    auto seats = coming.get();
    for (auto& each : seats) out.asked.push_back(std::move(each.streams.front()));
    return out;
}

}  // namespace rldp::ranks
