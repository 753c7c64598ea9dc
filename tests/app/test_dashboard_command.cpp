// A run and a folder of runs shown to browsers, from outside the program.
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.hpp"
#include "monitor/http/reader.hpp"
#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/monitor/peer.hpp"
#include "tests/support/ports.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

constexpr auto* quick_run =
    "run config/demo.json --quiet --set train.expected_batch_size=8 --set train.eval_every=4 --set "
    "train.eval_records=8 "
    "--set data.path=synthetic:300 ";

std::string a_port() {
    return std::to_string(free_port());
}

/// The first line of what a request to stop the run is answered.
std::string post_stop(const std::string& port, const std::string& token) {
    boost::asio::io_context io;
    boost::asio::ssl::context context(boost::asio::ssl::context::tls_client);
    boost::asio::ssl::stream<boost::asio::ip::tcp::socket> stream(io, context);
    stream.lowest_layer().connect(
        {boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(std::stoi(port))});
    stream.handshake(boost::asio::ssl::stream_base::client);
    boost::asio::write(
        stream, boost::asio::buffer("POST /api/runs/run/stop HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                                    "Content-Length: 0\r\nAuthorization: Bearer " +
                                    token + "\r\n\r\n"));
    std::string answer;
    boost::asio::read_until(stream, boost::asio::dynamic_buffer(answer), "\r\n");
    return answer.substr(0, answer.find('\r'));
}

}  // namespace

TEST_CASE("a run shows itself over TLS, and an operator's token stops it, resumable") {
    const scratch_directory scratch;
    const auto at = [&](const char* name) { return (scratch / name).string(); };
    REQUIRE(rldp_says("key new --tls 127.0.0.1 " + at("tls"), scratch.path()).status == 0);
    REQUIRE(rldp_says("key new --tokens " + at("tokens"), scratch.path()).status == 0);
    for (const std::string kind : {"--tls 127.0.0.1 ", "--tokens "}) {
        const auto nowhere = rldp_says("key new " + kind + at("nowhere/it"), scratch.path());
        CHECK(nowhere.status == 2);
        CHECK(nowhere.err.find("nowhere: no such directory; make it") != std::string::npos);
    }
    const auto port = a_port();
    answer said;
    std::atomic<bool> over = false;
    std::thread running([&] {
        said = rldp_says(quick_run + ("--set train.steps=2000 --dashboard " + port) +
                             " --set monitor.tls_certificate=" + at("tls.pem") +
                             " --set monitor.tls_key=" + at("tls.key") + " --set monitor.token_file=" + at("tokens") +
                             " --set monitor.tensorboard=true --out " + at("run"),
                         scratch.path());
        over = true;
    });
    auto place = monitor::parse_place("https://127.0.0.1:" + port);
    place.authority = scratch / "tls.pem";
    place.token = monitor::read_viewer_token(scratch / "tokens");
    monitor::run_reader reader(place);
    std::int64_t steps = 0;
    std::string last;
    bool asked = false;
    do {
        std::this_thread::yield();
        reader.follow([&](const monitor::run_view& seen) {
            CHECK(seen.name == "run");
            steps = seen.step;
            last = seen.state;
            if (steps < 2 || asked) return;
            asked = true;
            const auto token = read_file(scratch / "tokens").substr(72 + 9, 64);
            CHECK(has(post_stop(port, place.token), "403"));
            CHECK(has(post_stop(port, token), "202"));
        });
    } while (!over);
    running.join();
    CAPTURE(said.err);
    CHECK(said.status == 130);
    CHECK(has(said.err, "go on with: rldp run --resume"));
    CHECK(steps < 2000);
    CHECK(last == "interrupted");
    CHECK(std::filesystem::exists(scratch / "run/public/tensorboard/events.out.tfevents.rldp"));
    CHECK(std::filesystem::exists(scratch / "run/trusted/run.key"));
}

TEST_CASE("what a dashboard can't do is said before a run is made") {
    const scratch_directory scratch;
    const auto refused = [&](const std::string& more) {
        const auto said = rldp_says(quick_run + more + " --out " + (scratch / "run").string(), scratch.path());
        CHECK(said.status == 2);
        CHECK_FALSE(std::filesystem::exists(scratch / "run"));
        return said.err;
    };
    const fake_server other([](peer&) {});
    CHECK(has(refused("--dashboard " + std::to_string(other.port())), "another program listens there"));
    CHECK(has(refused("--dashboard 0.0.0.0:" + a_port()), "needs TLS and tokens"));
    CHECK(has(refused("--dashboard lab:x"), "is not [HOST:]PORT"));
    CHECK(has(refused("--dashboard 8787 --set monitor.tls_key=key"), "are a pair"));
    CHECK(has(refused("--set monitor.http=0"), "monitor.http"));
    const auto says = [&](const std::string& line) { return rldp_says(line, scratch.path()); };
    CHECK(has(says("dashboard " + (scratch / "nowhere").string()).err, "is no directory"));
    CHECK(has(says("monitor http://lab.example:1").err, "could read what http:// tells"));
    CHECK(has(says("monitor 127.0.0.1:4242 --ca x").err, "are for the address of a dashboard"));
    CHECK(has(says("compare config/demo.json --tls-key x").err, "--dashboard"));
}
