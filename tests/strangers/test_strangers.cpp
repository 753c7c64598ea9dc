// Strangers at every port that a run opens, from before it begins until after its end: it makes the same bits, takes no
// memory for them, and ends by itself while they still hold their connections.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "base/files.hpp"
#include "tests/catch.hpp"
#include "tests/strangers/family.hpp"
#include "tests/support/ports.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

std::string as_bytes(std::uint64_t number) {
    return {reinterpret_cast<const char*>(&number), sizeof number};
}

const std::vector<std::string> words = {
    "",
    std::string(1, '\0'),  // hung c10d's store, whose memory the next two filled
    "\5" + as_bytes(300'000'000),
    std::string(1, '\0') + as_bytes(std::uint64_t{3} << 30),
    "G",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 18446744073709551615\r\n\r\nx",
    "\x16\x03\x01\xff\xff\x01",  // TLS, a hello that is longer than any
    std::string(1 << 18, '\xff'),
    std::string(57, '\0'),  // as long as a rank's knock
};

/// Connections to a port, each with something to say, which stay open until it is gone.
class crowd {
  public:
    static constexpr std::size_t extra = 200;

    bool come(std::uint16_t port) {
        for (const auto& word : words)
            if (!add(port, word)) return false;
        for (std::size_t i = 0; i < extra; ++i)
            if (!add(port, "x")) return false;
        return true;
    }

    std::size_t size() const { return inside_.size(); }

  private:
    bool add(std::uint16_t port, const std::string& word) {
        auto one = connected_to(port);
        if (!one) return false;
        ::send(one.get(), word.data(), word.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        inside_.push_back(std::move(one));
        return true;
    }

    std::vector<descriptor> inside_;
};

std::int64_t charges_in(const std::filesystem::path& run) {
    const auto path = run / "public/ledger.jsonl";
    if (!std::filesystem::exists(path)) return -1;
    const auto text = read_file(path);
    return std::count(text.begin(), text.end(), '\n') - 1;
}

std::string made_by(const std::filesystem::path& run) {
    return read_file(run / "public/adapter/adapter_model.safetensors") + read_file(run / "public/ledger.jsonl") +
           read_file(run / "public/metrics.jsonl");
}

std::int64_t highest(const std::map<pid_t, std::int64_t>& peaks) {
    std::int64_t out = 0;
    for (const auto& [id, peak] : peaks) out = std::max(out, peak);
    return out;
}

constexpr std::int64_t steps = 40;
constexpr std::int64_t allowance = 64 << 10;  // KiB, for what a run's own peak differs by

class seconds_since {
  public:
    double operator()() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    }

  private:
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

TEST_CASE("strangers at every port of a run of two workers change nothing, and keep it from nothing", "[full]") {
    const scratch_directory scratch;
    std::map<pid_t, std::int64_t> alone_peaks, peaks;
    const auto alone = started(small_run(scratch / "alone", steps, {"--workers", "2"}), scratch / "output");
    look_at(*alone, [&] { return note_memory(alone->id(), alone_peaks), false; });
    REQUIRE(alone->wait() == 0);

    const auto process = started(small_run(scratch / "run", steps,
                                           {"--workers", "2", "--dashboard", std::to_string(free_port()), "--monitor",
                                            "127.0.0.1:" + std::to_string(free_port())}),
                                 scratch / "output");
    std::set<listening> known;
    std::int64_t begun = 0;
    crowd strangers;
    std::optional<seconds_since> first;
    look_at(*process, [&] {
        note_memory(process->id(), peaks);
        for (const auto& each : listening_sockets(process->id())) {
            // Each port when it opens, and again once steps are made.
            const bool later = charges_in(scratch / "run") > begun + steps / 2;
            if (!known.insert(each).second && !later) continue;
            if (later) begun = steps;
            if (!first) first.emplace();
            strangers.come(each.port);
        }
        return false;
    });
    INFO(read_file(scratch / "output"));
    CHECK(process->wait() == 0);
    CHECK(known.size() == 2);
    CHECK(strangers.size() > 2 * crowd::extra);
    CHECK(made_by(scratch / "run") == made_by(scratch / "alone"));
    CHECK(highest(peaks) < highest(alone_peaks) + allowance);
    CHECK_FALSE(std::filesystem::exists(scratch / "run/trusted/run.key"));
    fmt::print(
        "--workers 2, dashboard, monitor: {} strangers; ended {:.1f} s after the first; {} MiB at most, {} without\n",
        strangers.size(), (*first)(), highest(peaks) >> 10, highest(alone_peaks) >> 10);
}

TEST_CASE("strangers at the door of ranks that were begun apart change nothing, and keep them from nothing", "[full]") {
    const scratch_directory scratch;
    REQUIRE(started({"key", "new", "--cluster", (scratch / "secret").string()}, scratch / "output")->wait() == 0);
    const auto alone = started(small_run(scratch / "alone", steps), scratch / "output");
    std::map<pid_t, std::int64_t> alone_peaks, peaks;
    look_at(*alone, [&] { return note_memory(alone->id(), alone_peaks), false; });
    REQUIRE(alone->wait() == 0);

    const auto port = free_port();
    const auto arguments =
        small_run(scratch / "run", steps, {"--set", "cluster.secret=" + (scratch / "secret").string()});
    const auto rank0 = started(arguments, scratch / "rank0", as_rank(0, "127.0.0.1", port));
    crowd before, during;
    std::optional<seconds_since> first;
    look_at(*rank0, [&] {
        if (listening_sockets(rank0->id()).empty()) return false;
        first.emplace();
        return before.come(port);
    });
    const auto rank1 = started(arguments, scratch / "rank1", as_rank(1, "127.0.0.1", port));
    bool closed = false;
    look_at(*rank0, [&] {
        note_memory(rank0->id(), peaks);
        if (charges_in(scratch / "run") > 0) closed = !during.come(port);
        return false;
    });
    INFO(read_file(scratch / "rank0") << read_file(scratch / "rank1"));
    CHECK(rank0->wait() == 0);
    CHECK(rank1->wait() == 0);
    CHECK(before.size() == words.size() + crowd::extra);
    CHECK(closed);  // once all have come nothing listens
    CHECK(during.size() == 0);
    CHECK(made_by(scratch / "run") == made_by(scratch / "alone"));
    CHECK(highest(peaks) < highest(alone_peaks) + allowance);
    fmt::print("ranks begun apart: {} strangers; ended {:.1f} s after the first; {} MiB at most, {} without\n",
               before.size(), (*first)(), highest(peaks) >> 10, highest(alone_peaks) >> 10);
}
