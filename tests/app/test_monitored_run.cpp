// A run in a process of its own, watched and attacked from this one.
#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "monitor/http/reader.hpp"
#include "monitor/view/run_view.hpp"
#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/kill/child.hpp"
#include "tests/monitor/peer.hpp"
#include "tests/support/ports.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

constexpr auto* small_run =
    "run config/demo.json --quiet --set train.steps=8 --set train.expected_batch_size=8 --set train.eval_every=4"
    " --set train.eval_records=8 --set data.path=synthetic:300 ";

/// What strangers might send: the header that ended processes listening with CAF 0.17.6's BASP, a request for much
/// memory, noise.
void attack(std::uint16_t port) {
    std::string handshake(32, '\0');
    handshake[15] = 3;  // the protocol's version
    std::string greedy = handshake;
    greedy[4] = '\x7f';  // two gigabytes will follow
    for (const auto& packet : {handshake, greedy, std::string(100'000, '\xff'), std::string("GET / HTTP/1.1\r\n\r\n")})
        for (int i = 0; i < 50; ++i) {
            peer stranger(port);
            stranger.send(packet);
            stranger.reset();
        }
}

/// A run that lasts until it is ended, and `rldp monitor --until-end` of it: how long a short one can be watched
/// depends on the machine.
struct long_watch {
    const scratch_directory scratch, other;
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    child run;
    answer watched;
    std::thread watching;

    long_watch()
        : run({"run", "config/demo.json", "--quiet", "--monitor", address, "--out", (scratch.path() / "run").string(),
               "--set", "train.steps=1000000", "--set", "train.expected_batch_size=8", "--set", "train.eval_records=8",
               "--set", "data.path=synthetic:300", "--set", "privacy.book=none"},
              scratch.path() / "said"),
          watching([this] {
              watched = rldp_says("monitor " + address + " --until-end --json --timeout 600", other.path());
          }) {}
    ~long_watch() {
        run.kill();
        if (watching.joinable()) watching.join();
    }
    std::string said() const { return read_file(scratch.path() / "said"); }
    /// Until the monitor has printed `part`, or the run is over.
    void wait_for(const std::string& part) const {
        const auto seen = other.path() / "stdout";
        while (!std::filesystem::exists(seen) || !has(read_file(seen), part))
            if (run.ends_within(std::chrono::milliseconds(2))) break;
    }
    const answer& end() {
        watching.join();
        return watched;
    }
};

}  // namespace

TEST_CASE("a run is watched to its end, whatever strangers send to its port") {
    const scratch_directory scratch;
    const auto port = free_port();
    answer said;
    std::atomic<bool> over = false;
    std::thread running([&] {
        said = rldp_says(
            small_run + ("--monitor 127.0.0.1:" + std::to_string(port)) + " --out " + (scratch.path() / "run").string(),
            scratch.path());
        over = true;
    });
    monitor::run_reader reader(monitor::parse_place("127.0.0.1:" + std::to_string(port)));
    std::vector<monitor::run_view> seen;
    std::string why;
    do {
        std::this_thread::yield();
        why = reader.follow([&](const monitor::run_view& latest) {
            if (seen.empty()) attack(port);
            seen.push_back(latest);
        });
    } while (seen.empty() && !over);
    running.join();
    CAPTURE(said.err);
    CHECK(said.status == 0);
    CHECK(why == "the run ended");
    REQUIRE_FALSE(seen.empty());
    CHECK(seen.front().name == "run");
    CHECK(seen.back().state == "done");
    CHECK(seen.back().step == 8);
    CHECK(seen.back().steps == 8);
    CHECK(seen.back().value(eval::quantity::mean_radius) > 0);
}

TEST_CASE("rldp monitor ends with the run, as JSON for programs, or gives up in time") {
    long_watch both;
    both.wait_for(R"("running")");  // before, a signal cuts it
    ::kill(both.run.id(), SIGINT);
    CAPTURE(both.said());
    CHECK(both.run.wait() == 128 + SIGINT);
    const auto& watched = both.end();
    const auto& address = both.address;
    INFO(watched.err);
    REQUIRE(watched.status == 0);
    const auto begin = watched.out.rfind('\n', watched.out.size() - 2) + 1;  // npos + 1 is the beginning
    const auto last = monitor::parse_row(watched.out.substr(begin, watched.out.size() - begin - 1));
    CHECK(last.state == "interrupted");
    CHECK(last.steps == 1'000'000);
    const auto nobody = rldp_says("monitor " + address + " --once --timeout 0.3", both.other.path());
    CHECK(nobody.status == 1);
    CHECK(has(nobody.err, "nothing came from " + address + " for 0.3 s"));
    CHECK(nobody.out.empty());
}

TEST_CASE("rldp monitor does not wait for the end of a run that was killed") {
    long_watch both;
    both.wait_for("{");
    CHECK(both.run.kill());
    const auto& watched = both.end();
    CHECK(watched.status == 1);
    CHECK(has(watched.err, "monitor: the run at " + both.address + " is gone without having said how it ended"));
    CHECK_FALSE(has(watched.err, "waiting for another"));
}

TEST_CASE("a run whose port is taken is refused before anything is made or charged") {
    const scratch_directory scratch;
    const fake_server other([](peer&) {});
    const auto address = "127.0.0.1:" + std::to_string(other.port());
    const auto said =
        rldp_says(small_run + ("--monitor " + address) + " --out " + (scratch.path() / "run").string(), scratch.path());
    CHECK(said.status == 2);
    CHECK(has(said.err, "monitor.address: " + address + " can't be used ("));
    CHECK(has(said.err, "; another program listens there; choose another port\n"));
    CHECK_FALSE(std::filesystem::exists(scratch.path() / "run"));
}
