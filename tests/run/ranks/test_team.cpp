// Ranks that meet, agree, add up, and part; and what they do where one of them is not what it should be.
#include <ATen/ATen.h>
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "run/ranks/processes.hpp"
#include "run/ranks/step_words.hpp"
#include "tests/catch.hpp"
#include "tests/run/ranks/teams.hpp"
#include "tests/support/charges.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

std::vector<std::string> nobody_threw(std::size_t ranks) {
    return std::vector<std::string>(ranks);
}

/// The ports of this process's sockets, on whichever side of a connection.
std::set<std::uint16_t> list_own_ports() {
    std::set<std::uint16_t> out;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        sockaddr_in at{};
        socklen_t length = sizeof at;
        const int descriptor = std::stoi(entry.path().filename().string());
        if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&at), &length) == 0 && at.sin_family == AF_INET)
            out.insert(ntohs(at.sin_port));
    }
    return out;
}

/// What crosses the loopback device while it lives: every process's.
class listener {
  public:
    listener() : socket_(::socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL))) {
        if (socket_ < 0) return;
        sockaddr_ll at{};
        at.sll_family = AF_PACKET;
        at.sll_protocol = htons(ETH_P_ALL);
        at.sll_ifindex = static_cast<int>(::if_nametoindex("lo"));
        const int room = 64 << 20;
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
        if (::bind(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) return;
        heard_ = std::thread([this] { hear(); });
    }
    ~listener() {
        stop();
        if (socket_ >= 0) ::close(socket_);
    }
    bool works() const { return heard_.joinable(); }
    /// What was said to or from one of `ports`.
    std::string stop(const std::set<std::uint16_t>& ports) {
        stop();
        std::string out;
        for (const auto& one : segments_)
            if (ports.contains(one.from) || ports.contains(one.to)) out += one.bytes;
        return out;
    }

  private:
    struct segment {
        std::uint16_t from, to;
        std::string bytes;
    };

    void stop() {
        over_ = true;
        if (heard_.joinable()) heard_.join();
    }
    void hear() {
        constexpr std::size_t ports = 34, payload = 66;  // behind Ethernet's and IP's headers, and TCP's with its times
        std::vector<char> packet(1 << 17);
        for (;;) {
            pollfd ready{socket_, POLLIN, 0};
            const bool some = ::poll(&ready, 1, 50) > 0;
            if (!some && over_) return;
            if (!some) continue;
            sockaddr_ll from{};
            socklen_t length = sizeof from;
            const auto got =
                ::recvfrom(socket_, packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
            // Loopback shows each packet going and coming.
            if (got <= static_cast<ssize_t>(payload) || from.sll_pkttype == PACKET_OUTGOING) continue;
            std::array<std::uint16_t, 2> both;
            std::memcpy(both.data(), packet.data() + ports, sizeof both);
            segments_.push_back(
                {ntohs(both[0]), ntohs(both[1]), {packet.data() + payload, static_cast<std::size_t>(got) - payload}});
        }
    }

    int socket_;
    std::atomic<bool> over_ = false;
    std::vector<segment> segments_;
    std::thread heard_;
};

}  // namespace

TEST_CASE("ranks say, exchange, share a key and add up, alike for 2, 3 and 4") {
    for (const std::size_t count : {2U, 3U, 4U}) {
        std::mutex guard;
        std::map<std::size_t, std::uint64_t> words;
        const auto key = privacy::run_key::from_system();
        const auto threw = as_ranks(count, [&](const auto& team) {
            const auto heard = team->broadcast(team->rank() == 0 ? std::string(100'000, 'x') : std::string());
            const auto all = team->exchange(std::string(team->rank() * 3, 'a'));
            const auto shared = team->share(team->rank() == 0 ? std::optional(key) : std::nullopt);
            std::vector<std::int64_t> numbers(5000);
            for (std::size_t j = 0; j < numbers.size(); ++j)
                numbers[j] = (static_cast<std::int64_t>(j) - 2500) * static_cast<std::int64_t>(team->rank() + 1);
            for (std::uint64_t seq = 1; seq <= 3; ++seq) {
                auto sum = numbers;
                team->reduce(seq, sum);
                if (team->rank() != 0) continue;
                const auto times = static_cast<std::int64_t>(count * (count + 1) / 2);
                for (std::size_t j = 0; j < sum.size(); ++j)
                    if (sum[j] != (static_cast<std::int64_t>(j) - 2500) * times)
                        throw std::runtime_error("another sum");
            }
            team->leave();
            privacy::random_stream stream(shared, privacy::purpose::draw, 1, 0);
            const std::lock_guard lock(guard);
            words[team->rank()] = stream.next();
            CHECK(heard == std::string(100'000, 'x'));
            CHECK(all.size() == count);
            CHECK(all.back() == std::string((count - 1) * 3, 'a'));
        });
        CHECK(threw == nobody_threw(count));
        CHECK(words.size() == count);
        for (const auto& [rank, word] : words) CHECK(word == words.at(0));
    }
}

TEST_CASE("a step is heard as it was told, in the ledger's order, and after the last comes the end") {
    std::mutex guard;
    privacy::step_order order{charged_at(1), {}, {at::rand({3})}};
    order.terms.radii = {0.25};
    order.terms.probes = {1};
    const privacy::step_order next{charged_at(2), order.terms, {}};
    const auto threw = as_ranks(2, [&](const auto& team) {
        if (team->rank() == 0) {
            ranks::tell_step(*team, order, at::arange(3, at::kFloat));
            ranks::tell_step(*team, next, at::zeros({3}));
            return ranks::tell_end(*team);
        }
        scratch_directory scratch;
        const auto path = scratch / "ledger";
        privacy::ledger::create(path, scratch_header());
        privacy::ledger_copy ledger(read_file(path));
        const auto first = ranks::hear_step(*team, ledger), second = ranks::hear_step(*team, ledger);
        const auto end = ranks::hear_step(*team, ledger);
        const std::lock_guard lock(guard);
        REQUIRE((first && second));
        CHECK_FALSE(end);
        CHECK(first->order.charged->seq == 1);
        CHECK(first->order.terms.radii == order.terms.radii);
        CHECK(first->order.probes.size() == 1);
        CHECK(at::equal(first->adapter, at::arange(3, at::kFloat)));
        CHECK(ledger.content().charges.size() == 2);
    });
    CHECK(threw == nobody_threw(2));
}

TEST_CASE("a charge that is not the ledger's next is refused") {
    scratch_directory scratch;
    auto ledger = privacy::ledger::create(scratch / "ledger", scratch_header());
    privacy::ledger_copy copy(read_file(scratch / "ledger"));
    const auto first = privacy::format_charge(ledger.append(1, 2, scratch_header().sample_rate, std::nullopt));
    const auto second = privacy::format_charge(ledger.append(2, 2, scratch_header().sample_rate, std::nullopt));
    CHECK(has(refusal([&] { copy.add(second); }), "seq 1 was expected, not 2"));
    CHECK(copy.add(first)->seq == 1);
    CHECK(has(refusal([&] { copy.add(first); }), "seq 2 was expected, not 1"));
    auto cheaper = second;
    cheaper.replace(cheaper.find("\"noise_multiplier\":2"), 20, "\"noise_multiplier\":3");
    CHECK(has(refusal([&] { copy.add(cheaper); }), "the ledger of rank 0"));
    CHECK(copy.add(second)->step == 2);
}

TEST_CASE("ranks that don't belong together name what differs, and no digest of a table") {
    const auto threw = as_ranks(2, [](const auto& team) {
        team->agree({{"version of rldp", "1"}, {"table", team->rank() == 1 ? "0123456789abcdef" : "fedcba9876543210"}});
    });
    CHECK(threw[0] == "rank 1 has another table than rank 0; give every rank the same");
    CHECK(threw[0] == threw[1]);
}

TEST_CASE("a rank that goes is noticed by the others, in whatever they wait for") {
    const auto threw = as_ranks(3, [](const auto& team) {
        if (team->rank() == 2) throw std::runtime_error("gone");
        std::vector<std::int64_t> numbers(100);
        team->reduce(1, numbers);
        team->broadcast("next");
    });
    CHECK(has(threw[0], "another rank is gone"));
    CHECK(has(threw[1], "another rank is gone"));
    CHECK(threw[2] == "gone");
}

TEST_CASE("a sum that is not of what was tagged is an error, in whichever number and however little it differs") {
    const auto secret = privacy::cluster_secret::from_system();
    // The last is the tag's own modulus: the tag does not see it, and who only adds to masked numbers needs no key for
    // it.
    for (const std::int64_t difference :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 62, (std::int64_t{1} << 61) - 1}) {
        const auto port = free_port();
        constexpr auto timeout = std::chrono::seconds(20);
        const auto heard = [](const std::string&) {};
        // Rank 1 as somebody on its way to rank 0 makes it look: what it sends is not what it has tagged.
        std::thread other([&] {
            ranks::wire wire(make_place(1, 2, port), secret, timeout, heard);
            const auto nonce = privacy::meeting::nonce();
            const std::uint64_t length = std::string_view("here").size();
            const privacy::meeting keys(secret,
                                        wire.gather({reinterpret_cast<const char*>(nonce.data()), nonce.size()}));
            wire.gather(keys.seal({reinterpret_cast<const char*>(&length), sizeof length}, 1, 1));
            wire.gather(keys.seal("here", 1, 2));
            std::vector<std::int64_t> numbers(100, 7);
            const auto tag = keys.tag(numbers, 5);
            numbers[33] += difference;
            keys.mask(numbers, 5, 1);
            wire.sum(numbers);
            wire.gather(keys.seal({reinterpret_cast<const char*>(&tag), sizeof tag}, 1, 3));
            wire.leave();
        });
        std::string threw;
        {
            ranks::team team(make_place(0, 2, port), secret, timeout, heard);
            std::vector<std::int64_t> numbers(100, 1);
            try {
                team.reduce(5, numbers);
                CHECK(numbers == std::vector<std::int64_t>(100, 8));
            } catch (const error& failure) {
                threw = failure.what();
            }
            team.leave();
        }
        other.join();
        CHECK(threw.empty() == (difference == 0));
        if (difference != 0) CHECK(has(threw, "is not the sum of what they sent"));
    }
}

TEST_CASE("a listener on the wire hears neither a share nor a sum of shares, but noise") {
    // What sums look like: small numbers. Ranks' differ, so that a sum of any of them is known again.
    constexpr std::size_t count = 40'000;
    const auto compute_share = [](std::size_t rank) {
        return std::int64_t{0x0000'0012'3456'789a} * (std::int64_t{1} << rank);
    };
    for (const std::size_t ranks : {2U, 3U, 4U}) {
        listener wire;
        if (!wire.works()) {
            WARN("skipped: no raw socket may be opened here (CAP_NET_RAW)");
            return;
        }
        std::set<std::uint16_t> ports;  // other processes talk on this device, too
        const auto threw = as_ranks(ranks, [&](const auto& team) {
            std::vector<std::int64_t> numbers(count, compute_share(team->rank()));
            team->reduce(1, numbers);
            if (team->rank() == 0) ports = list_own_ports();  // every rank's: they are threads of this process
            team->broadcast(std::string(50'000, 'r'));
            team->leave();
        });
        CHECK(threw == nobody_threw(ranks));
        const auto bytes = wire.stop(ports);
        REQUIRE(bytes.size() > count * 8);
        CHECK(bytes.find("rrrrrrrr") == std::string::npos);
        for (std::size_t whose = 1; whose < (std::size_t{1} << ranks); ++whose) {  // each set of ranks
            std::int64_t sum = 0;
            for (std::size_t rank = 0; rank < ranks; ++rank)
                if ((whose >> rank & 1) == 1) sum += compute_share(rank);
            INFO(ranks << " ranks, the sum of set " << whose);
            CHECK(bytes.find(std::string(reinterpret_cast<const char*>(&sum), sizeof sum)) == std::string::npos);
        }
        // Of uniform bytes 8 in a row are alike once in 2⁵⁶; lengths and addresses are few. No run of equal words is
        // left.
        std::array<double, 256> counts{};
        for (const char byte : bytes) ++counts[static_cast<unsigned char>(byte)];
        const auto n = static_cast<double>(bytes.size());
        const double headers = 40'000;  // bytes of protocol, mostly zeros
        for (std::size_t value = 0; value < 256; ++value) {
            INFO("byte " << value << " of " << n);
            CHECK(counts[value] > 0.9 * (n - headers) / 256);
            if (value != 0) CHECK(counts[value] < 1.1 * n / 256 + headers / 8);
        }
    }
}

TEST_CASE("each rank of a machine has a device of its own, or the one that the launcher gave it") {
    CHECK(ranks::device_of_rank(nullptr, 2) == "2");
    CHECK(ranks::device_of_rank("4,5,GPU-6", 2) == "GPU-6");
    CHECK(ranks::device_of_rank("7", 3) == "7");
    CHECK(has(refusal([] { ranks::device_of_rank("0,1", 2); }), "names 2 devices, and this is rank 2"));
}

TEST_CASE("who this rank is stands in the launcher's variables, or is refused by the variable's name") {
    const auto place = [](std::map<std::string, std::string> variables) {
        return ranks::place_from([&variables](const char* name) -> const char* {
            const auto found = variables.find(name);
            return found == variables.end() ? nullptr : found->second.c_str();
        });
    };
    CHECK_FALSE(place({}));
    CHECK_FALSE(place({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
    CHECK_FALSE(place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}));  // a batch script, not one of srun's tasks
    const std::map<std::string, std::string> where = {{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}};
    const auto with = [&](std::map<std::string, std::string> more) {
        more.insert(where.begin(), where.end());
        return place(more);
    };
    const auto torchrun = with({{"RANK", "3"},
                                {"WORLD_SIZE", "4"},
                                {"LOCAL_RANK", "1"},
                                {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                {"TORCHELASTIC_RESTART_COUNT", "2"}});
    REQUIRE(torchrun);
    CHECK(torchrun->rank == 3);
    CHECK(torchrun->ranks == 4);
    CHECK(torchrun->local_rank == 1);
    CHECK(torchrun->host == "node1");
    CHECK(torchrun->port == 29500);
    CHECK(torchrun->store_elsewhere);
    CHECK(torchrun->round == "2");
    const auto worker = place({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}, {"RLDP_LAUNCHER", "4242"}});
    CHECK((worker && worker->launcher == 4242));
    CHECK(with({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}})
              ->rank == 1);
    CHECK(with({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"}})->ranks == 8);
    CHECK(has(refusal([&] {
                  with({{"RANK", "4"}, {"WORLD_SIZE", "4"}});
              }),
              "RANK: '4' is no whole number from 0 to 3"));
    CHECK(has(refusal([&] { with({{"RANK", "x"}, {"WORLD_SIZE", "4"}}); }), "RANK: 'x'"));
    CHECK(has(refusal([&] { place({{"RANK", "0"}, {"WORLD_SIZE", "2"}}); }), "MASTER_ADDR and MASTER_PORT"));
    CHECK(has(refusal([&] {
                  place({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}});
              }),
              "MASTER_PORT: '70000'"));
}
