// Who comes to rank 0's door besides its ranks: strangers, who are held off, and ranks that don't belong.
#include <filesystem>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "run/ranks/handshake.hpp"
#include "run/ranks/rendezvous.hpp"
#include "tests/catch.hpp"
#include "tests/run/ranks/teams.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::testing;
using std::chrono::seconds;

namespace {

descriptor once_open(std::uint16_t port) {
    for (;;)
        if (auto out = connected_to(port)) return out;
}

/// What the other end says until it closes.
std::string read_all(const descriptor& from) {
    std::string out;
    for (char byte = 0; ranks::receive_all(from, {&byte, 1});) out += byte;
    return out;
}

std::string as_bytes(const std::array<std::uint64_t, 2>& numbers) {
    return {reinterpret_cast<const char*>(numbers.data()), sizeof numbers};
}

const std::vector<std::string> words_of_strangers = {
    std::string(1, '\0'),  // what hung c10d's store
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    std::string("\5\0\0\0\x12\0\0\0\0", 9),  // what filled its memory
    as_bytes({std::uint64_t{1} << 62, std::uint64_t{3} << 30}),
    std::string(1 << 20, '\xff'),
    std::string(ranks::knock_bytes, '\0'),
    std::string(ranks::knock_bytes - 1, 'k'),
};

/// A team that adds up once.
std::string add_up(ranks::team& team) {
    std::vector<std::int64_t> numbers(1000, static_cast<std::int64_t>(team.rank()) + 1);
    team.reduce(1, numbers);
    team.leave();
    const auto expected = static_cast<std::int64_t>(team.ranks() * (team.ranks() + 1) / 2);
    return team.rank() > 0 || numbers == std::vector<std::int64_t>(1000, expected) ? "" : "another sum";
}

struct two_ranks {
    std::uint16_t port = free_port();
    privacy::cluster_secret secret = privacy::cluster_secret::from_system();
    ranks::place place(std::size_t rank, std::size_t count = 2) const {
        auto out = make_place(rank, count, port);
        out.patience = seconds(300);
        return out;
    }
    std::unique_ptr<ranks::team> team(const ranks::place& where) const {
        return std::make_unique<ranks::team>(where, secret, seconds(60), [](const std::string&) {});
    }
    /// What a rank threw, or what is wrong with its sum.
    std::string act(const ranks::place& where) const {
        try {
            return add_up(*team(where));
        } catch (const std::exception& thrown) {
            return thrown.what();
        }
    }
};

std::int64_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

}  // namespace

TEST_CASE("whatever strangers say at the door, and however long they stay, the ranks meet") {
    const two_ranks both;
    std::string first;
    std::thread rank0([&] { first = both.act(both.place(0)); });
    std::vector<descriptor> strangers;
    for (const auto& words : words_of_strangers) {
        strangers.push_back(once_open(both.port));
        ranks::send_all(strangers.back(), words);
    }
    CHECK(both.act(both.place(1)).empty());
    rank0.join();
    CHECK(first.empty());
    CHECK_FALSE(connected_to(both.port));  // nothing listens once all have come
}

TEST_CASE("a crowd of strangers takes neither memory nor descriptors, and the ranks meet") {
    const two_ranks both;
    std::string first;
    std::thread rank0([&] { first = both.act(both.place(0)); });
    std::vector<descriptor> strangers;
    strangers.push_back(once_open(both.port));
    const auto before = open_descriptors();
    constexpr std::int64_t crowd = 400;
    std::int64_t most = 0;
    for (std::int64_t i = 1; i <= crowd; ++i) {
        strangers.push_back(connected_to(both.port));
        REQUIRE(ranks::send_all(strangers.back(), std::string(1, 'x')));
        std::string greeted(ranks::greeting_bytes, '\0');
        ranks::receive_all(strangers.back(), greeted);  // now it is inside
        most = std::max(most, open_descriptors() - before - i);
    }
    CHECK(most <= static_cast<std::int64_t>(ranks::most_strangers));
    CHECK(both.act(both.place(1)).empty());
    rank0.join();
    CHECK(first.empty());
}

TEST_CASE("a stranger hears forty bytes and no more") {
    const two_ranks both;
    std::thread rank0([&] { both.act(both.place(0)); });
    const auto stranger = once_open(both.port);
    std::string heard(ranks::greeting_bytes, '\0');
    REQUIRE(ranks::receive_all(stranger, heard));
    CHECK(ranks::is_greeting(heard));
    ranks::send_all(stranger, std::string(ranks::knock_bytes, 'k'));
    const auto answer = read_all(stranger);
    CHECK(answer.size() == ranks::answer_bytes);
    CHECK(answer.front() == static_cast<char>(ranks::verdict::stranger));
    CHECK(both.act(both.place(1)).empty());
    rank0.join();
}

TEST_CASE("what a rank said once opens no other door, and no answer is taken for another's") {
    const auto secret = privacy::cluster_secret::from_system(), other = privacy::cluster_secret::from_system();
    const auto one = ranks::greeting(), two = ranks::greeting();
    CHECK(one != two);
    const ranks::caller who{3, 4, 1, {'p'}};
    const auto said = ranks::knock(secret, one, who);
    REQUIRE(said.size() == ranks::knock_bytes);
    const auto heard = ranks::heard_knock(secret, one, said);
    REQUIRE(heard);
    CHECK((heard->rank == 3 && heard->ranks == 4 && heard->stream == 1 && heard->process == who.process));
    CHECK_FALSE(ranks::heard_knock(secret, two, said));
    CHECK_FALSE(ranks::heard_knock(other, one, said));
    const auto answered = ranks::answer(secret, one, said, ranks::verdict::miscounted, 7);
    REQUIRE(answered.size() == ranks::answer_bytes);
    CHECK(ranks::heard_answer(secret, one, said, answered)->ranks == 7);
    CHECK_FALSE(ranks::heard_answer(secret, two, said, answered));
    CHECK_FALSE(ranks::heard_answer(other, one, said, answered));
    CHECK_FALSE(ranks::heard_answer(secret, one, ranks::knock(secret, one, {2, 4, 1, {'p'}}), answered));
    for (std::size_t i = 0; i < said.size(); ++i) {
        auto changed = said;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        CHECK_FALSE(ranks::heard_knock(secret, one, changed));
    }
}

TEST_CASE("a rank with another secret is told so, and rank 0 says that somebody came with one") {
    const two_ranks both;
    two_ranks stranger;
    stranger.port = both.port;
    auto where = both.place(0);
    where.patience = seconds(3);
    std::string first;
    std::thread rank0([&] { first = both.act(where); });
    const auto threw = stranger.act(stranger.place(1));
    rank0.join();
    CHECK(has(threw, "rank 1 of 2: its cluster secret is not the one of rank 0 at 127.0.0.1:"));
    CHECK(has(first, "rank 0 of 2: rank 1 did not come to 127.0.0.1:"));
    CHECK(has(first, "within 3 s; 1 connection was refused for another secret (cluster.secret) or none"));
}

TEST_CASE("another number of ranks, and a rank that comes twice, are refused on both sides by the same line") {
    for (const bool twice : {false, true}) {
        const two_ranks both;
        std::string first, second, third;
        std::thread rank0([&] { first = both.act(both.place(0, twice ? 3 : 2)); });
        std::thread rank1([&] { second = both.act(both.place(1, 3)); });
        if (twice) third = both.act(both.place(1, 3));
        rank0.join();
        rank1.join();
        const auto* const line = twice ? "two processes were started as rank 1 (RANK); give each a number of its own"
                                       : "rank 1 was started as one of 3 ranks, rank 0 as one of 2 (WORLD_SIZE); start "
                                         "all with the same";
        CHECK(first == line);
        CHECK((second == line || third == line));
    }
}

TEST_CASE("a rank that goes while others are waited for may come again as another process") {
    const two_ranks both;
    std::vector<std::string> threw(3);
    std::thread rank0([&] { threw[0] = both.act(both.place(0, 3)); });
    { ranks::meet_first(both.place(1, 3), both.secret); }
    std::thread rank1([&] { threw[1] = both.act(both.place(1, 3)); });
    threw[2] = both.act(both.place(2, 3));
    rank0.join();
    rank1.join();
    CHECK(threw == std::vector<std::string>(3));
}

TEST_CASE("under torchrun, whose agent has the port, rank 0 says in the agent's store where it listens") {
    const two_ranks both;
    c10d::TCPStoreOptions options;
    options.port = both.port;
    options.isServer = true;
    options.waitWorkers = false;
    [](auto& newer) {
        if constexpr (requires { newer.useLibUV; }) newer.useLibUV = false;
    }(options);
    c10d::TCPStore agent("127.0.0.1", options);
    const auto under_agent = [&](std::size_t rank, const std::string& round) {
        auto out = both.place(rank);
        out.store_elsewhere = true;
        out.round = round;
        return out;
    };
    for (const std::string round : {"0", "1"}) {  // the second after a restart, which must not look at the first's port
        std::string first;
        std::thread rank0([&] { first = both.act(under_agent(0, round)); });
        CHECK(both.act(under_agent(1, round)).empty());
        rank0.join();
        CHECK(first.empty());
    }
}

TEST_CASE("a port that is taken is named in one line") {
    const two_ranks both;
    const auto taken = listening_at(both.port);
    CHECK(both.act(both.place(0)) == "MASTER_PORT: port " + std::to_string(both.port) +
                                         " of this machine is taken by another program; give all ranks another one");
    // Rank 1 finds that program there, which is no rank.
    auto where = both.place(1);
    where.patience = seconds(1);
    CHECK(has(both.act(where), "what listens there does not answer as rank 0 would"));
}
