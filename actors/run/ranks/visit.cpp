// The other side of the door: a rank that looks for rank 0.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "actors/run/ranks/addresses.hpp"
#include "actors/run/ranks/agent_store.hpp"
#include "actors/run/ranks/door.hpp"
#include "actors/run/ranks/handshake.hpp"
#include "actors/run/ranks/peer_error.hpp"
#include "actors/run/ranks/wire.hpp"
#include "config/base/error.hpp"

namespace rldp::ranks {

namespace {

using std::chrono::steady_clock;

class visit {
  public:
    visit(const place& where, const privacy::cluster_secret& secret)
        : where_(where), secret_(secret), until_(steady_clock::now() + where.patience) {
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
                    fmt::format("rank {} of {} finds no rank 0 at {}:{} within {} s: {}", where_.rank, where_.ranks,
                                where_.host, where_.port, where_.patience.count(), reason_));
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
        const std::string nothing = "what listens there does not answer as rank 0 would";
        std::string greeted(greeting_bytes, '\0'), answered(answer_bytes, '\0');
        if (!receive_all(socket, greeted, until) || !is_greeting(greeted)) return failed(nothing);
        const auto said = knock(secret_, greeted, own);
        if (!send_all(socket, said, until) || !receive_all(socket, answered, until)) return failed(nothing);
        const auto heard = heard_answer(secret_, greeted, said, answered);
        if (!heard) return failed(nothing);
        refuse_unless(
            heard->how != verdict::stranger,
            fmt::format("rank {} of {}: its cluster secret is not the one of rank 0 at {}:{}; give every rank "
                        "the same file (cluster.secret)",
                        where_.rank, where_.ranks, where_.host, where_.port));
        refuse_unless(heard->how != verdict::miscounted, miscount_line(where_.rank, where_.ranks, heard->ranks));
        refuse_unless(heard->how != verdict::twice, twice_line(where_.rank));
        settle(socket);
        return socket;
    }

    place where_;
    const privacy::cluster_secret& secret_;
    moment until_;
    std::array<char, caller::process_bytes> process_{};
    std::string reason_ = "no address";
};

}  // namespace

link meet_first(const place& where, const privacy::cluster_secret& secret) {
    visit at(where, secret);
    auto words = at.stream(0);
    auto beats = at.stream(1, &words);
    return {std::move(words), std::move(beats)};
}

}  // namespace rldp::ranks
