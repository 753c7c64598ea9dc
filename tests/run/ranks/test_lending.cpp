// What ranks lend each other beside what they compute.
#include <sys/socket.h>

#include <array>
#include <future>
#include <map>

#include "run/ranks/lending.hpp"
#include "tests/catch.hpp"
#include "tests/run/ranks/teams.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

std::pair<descriptor, descriptor> socket_pair() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    return {descriptor(ends[0]), descriptor(ends[1])};
}

std::shared_ptr<const privacy::meeting> common_meeting() {
    const auto secret = privacy::cluster_secret::from_system();
    return std::make_shared<const privacy::meeting>(secret, std::string(64, 'n'));
}

ranks::lending::shelf holding(const std::string& text) {
    return [text](std::uint64_t number) {
        auto kept = std::make_shared<std::string>(text + std::to_string(number));
        return ranks::lending::loan{{std::span<const char>(*kept).first(2), std::span<const char>(*kept).subspan(2)},
                                    kept};
    };
}

std::string borrow(ranks::lending& by, std::size_t from, std::uint64_t number, std::size_t length) {
    std::string out(length, '\0');
    const std::array parts{std::span<char>(out).first(2), std::span<char>(out).subspan(2)};
    by.borrow(from, number, parts);
    return out;
}

}  // namespace

TEST_CASE("ranks lend each other what they have while none of them does anything else") {
    std::vector<std::string> heard(3);
    const std::string large(3 << 20, 'x');  // in several pieces
    const auto threw = as_ranks(3, [&](const std::shared_ptr<ranks::team>& team) {
        const auto rank = team->rank();
        const auto lending = team->lend(holding("rank " + std::to_string(rank) + large));
        for (std::size_t other = 0; other < 3; ++other)
            if (other != rank) {
                const auto all = borrow(*lending, other, 10 + rank, 6 + large.size() + 2);
                heard[rank] += all.substr(0, 6) + all.substr(6 + large.size()) + " ";
            }
        team->leave();
    });
    CHECK(threw == std::vector<std::string>(3));
    CHECK(heard == std::vector<std::string>{"rank 110 rank 210 ", "rank 011 rank 211 ", "rank 012 rank 112 "});
}

TEST_CASE("a byte that is changed on the way, and a question that no rank asked, are noticed") {
    const auto meeting = common_meeting();
    // Rank 0 asks rank 1, by way of somebody who changes one byte: of the question, or of the answer.
    for (const bool of_question : {true, false}) {
        auto [asking, heard] = socket_pair();
        auto [told, asked] = socket_pair();
        auto [other_asking, other_asked] = socket_pair();
        ranks::mesh first, second;
        first.asking.resize(2);
        first.asked.resize(2);
        second.asking.resize(2);
        second.asked.resize(2);
        first.asking[1] = std::move(asking);
        first.asked[1] = std::move(other_asked);
        second.asking[0] = std::move(other_asking);
        second.asked[0] = std::move(asked);
        const auto between = std::async(std::launch::async, [&, h = &heard, t = &told] {
            std::string question(48, '\0'), answer(40 + 2, '\0');
            if (!ranks::receive_all(*h, question)) return;
            if (of_question) question[44] = static_cast<char>(question[44] ^ 1);
            if (!ranks::send_all(*t, question)) return;
            if (ranks::receive_all(*t, answer)) {
                answer[41] = static_cast<char>(answer[41] ^ 1);
                ranks::send_all(*h, answer);
            }
            ::shutdown(h->get(), SHUT_RDWR);
        });
        ranks::lending one(make_place(0, 2, 1), meeting, std::move(first), holding("a"));
        const ranks::lending two(make_place(1, 2, 1), meeting, std::move(second), holding("b"));
        const auto said = refusal([&] { borrow(one, 1, 7, 2); });
        CHECK(has(said, of_question ? "rank 1 lends no layers any more" : "is not what it sent"));
    }
}
