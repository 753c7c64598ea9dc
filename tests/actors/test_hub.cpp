// The hub's run log and its watchers: bounded, latest value wins, at most one tick a second.
#include <caf/all.hpp>
#include <cmath>
#include <limits>

#include "actors/display.hpp"
#include "actors/failure.hpp"
#include "actors/hub.hpp"
#include "actors/launch.hpp"
#include "config/files.hpp"
#include "eval/metrics.hpp"
#include "monitor/terminal.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

eval::metrics_line line_of(std::int64_t step, double loss) {
    eval::metrics_line line;
    line.step = step;
    line.loss_released = loss;
    line.noise_multiplier = 0.7;
    line.radii = {0.1, 0.2};
    line.progress_epsilon = 0.5;
    return line;
}

struct watched_hub : deterministic {
    watched_hub() {
        hub_ = spawn(hub, std::string("test run"));
        self->send(hub_, begin_atom::value, run_header{(scratch / "metrics.jsonl").string(), {}, 100, 8, 7.9});
        run();
    }
    /// A watcher that acknowledges only when the test says so.
    display_actor silent_watcher(std::vector<telemetry>& seen) {
        return spawn([&seen](display_actor::pointer) -> display_actor::behavior_type {
            return {[&seen](const telemetry& value) { seen.push_back(value); }, [](retry_atom) {}};
        });
    }
    void second() {
        scheduler.advance_time(tick_interval);
        run();
    }
    scratch_directory scratch;
    hub_actor hub_;
};

template <class T>
T through_the_wire(caf::actor_system& system, const T& value) {
    std::vector<char> bytes;
    caf::binary_serializer sink(system, bytes);
    REQUIRE_FALSE(sink(const_cast<T&>(value)));
    T back;
    caf::binary_deserializer source(system, bytes);
    REQUIRE_FALSE(source(back));
    return back;
}

}  // namespace

TEST_CASE("a watcher that falls silent gets one message, and the latest value once it acknowledges") {
    watched_hub side;
    std::vector<telemetry> seen;
    const auto watcher = side.silent_watcher(seen);
    const auto first = side.ask<telemetry>(side.hub_, subscribe_atom::value, watcher);
    REQUIRE(first);
    CHECK(first->run == "test run");
    for (std::int64_t step = 1; step <= 50; ++step) {
        side.self->send(side.hub_, metrics_atom::value, line_of(step, 2.0));
        side.run();
        side.second();
    }
    CHECK(seen.empty());  // it owes an acknowledgement for the answer to its subscription
    caf::anon_send(side.hub_, ack_atom::value);
    side.run();
    CHECK(seen.empty());  // somebody else's acknowledgement does not count
    side.self->send(watcher, retry_atom::value);
    const caf::message ack = caf::make_message(ack_atom::value);
    caf::actor_cast<caf::actor>(side.hub_)->enqueue(caf::actor_cast<caf::strong_actor_ptr>(watcher), caf::make_message_id(), ack,
                                                    nullptr);
    side.run();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].step == 50);
}

TEST_CASE("ticks come at most once a second and show averages") {
    watched_hub side;
    std::vector<telemetry> seen;
    const auto display = side.spawn(local_display, publication_actor(side.hub_), show([&](const telemetry& t) { seen.push_back(t); }));
    side.run();
    const auto before = seen.size();
    for (std::int64_t step = 1; step <= 4; ++step)
        side.self->send(side.hub_, metrics_atom::value, line_of(step, static_cast<double>(step)));
    side.run();
    CHECK(seen.size() == before);
    side.second();
    REQUIRE(seen.size() == before + 1);
    CHECK(seen.back().step == 4);
    CHECK(seen.back().loss.value == Approx(2.5));
    side.second();
    CHECK(seen.size() == before + 1);  // nothing new, nothing sent
}

TEST_CASE("who subscribes between two ticks sees the last tick, not the step under way") {
    watched_hub side;
    side.self->send(side.hub_, metrics_atom::value, line_of(1, 2.0));
    side.run();
    side.second();
    side.self->send(side.hub_, metrics_atom::value, line_of(2, 2.0));
    side.run();
    std::vector<telemetry> seen;
    const auto first = side.ask<telemetry>(side.hub_, subscribe_atom::value, side.silent_watcher(seen));
    REQUIRE(first);
    CHECK(first->step == 1);
    side.second();
    const auto later = side.ask<telemetry>(side.hub_, subscribe_atom::value, side.silent_watcher(seen));
    REQUIRE(later);
    CHECK(later->step == 2);
}

TEST_CASE("other processes reach a watcher's two messages and nothing else of the hub") {
    watched_hub side;
    const auto published = side.spawn(publication, side.hub_);
    std::vector<telemetry> seen;
    const auto watcher = side.silent_watcher(seen);
    REQUIRE(side.ask<telemetry>(published, subscribe_atom::value, watcher));
    const auto forged = caf::actor_cast<caf::actor>(published);
    caf::anon_send(forged, evaluate_atom::value, std::int64_t{1}, 1.5);
    caf::anon_send(forged, finish_atom::value, std::string("done"));
    caf::anon_send(forged, tick_atom::value);
    caf::anon_send_exit(forged, caf::exit_reason::user_shutdown);
    side.run();
    CHECK(eval::read_metrics(side.scratch / "metrics.jsonl").empty());
    side.self->send(side.hub_, metrics_atom::value, line_of(7, 2.0));
    side.run();
    side.second();
    CHECK(seen.empty());  // owes the acknowledgement
    forged->enqueue(caf::actor_cast<caf::strong_actor_ptr>(watcher), caf::make_message_id(), caf::make_message(ack_atom::value),
                    nullptr);
    side.run();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].step == 7);
    CHECK(seen[0].state == "running");
}

TEST_CASE("the finished run log is in the order of steps, whenever evaluations came in") {
    watched_hub side;
    for (std::int64_t step = 1; step <= 5; ++step) side.self->send(side.hub_, metrics_atom::value, line_of(step, 2.0));
    side.self->send(side.hub_, evaluate_atom::value, std::int64_t{2}, 4.5);
    side.self->send(side.hub_, finish_atom::value, std::string("done"));
    side.run();
    const auto text = read_file(side.scratch / "metrics.jsonl");
    CHECK(std::count(text.begin(), text.end(), '\n') == 5);
    CHECK(eval::read_metrics(side.scratch / "metrics.jsonl")[1].eval_perplexity == 4.5);
}

TEST_CASE("the run log has every step, and an evaluation that came later is merged into its step") {
    watched_hub side;
    for (std::int64_t step = 1; step <= 5; ++step) side.self->send(side.hub_, metrics_atom::value, line_of(step, 2.0));
    side.self->send(side.hub_, evaluate_atom::value, std::int64_t{3}, 4.5);
    side.run();
    const auto lines = eval::read_metrics(side.scratch / "metrics.jsonl");
    REQUIRE(lines.size() == 5);
    CHECK(*lines[2].eval_perplexity == 4.5);
    CHECK(*lines[2].loss_released == 2.0);
    CHECK_FALSE(lines[3].eval_perplexity);
}

TEST_CASE("telemetry crosses the wire bit for bit, infinities, NaN and subnormals too") {
    deterministic run;
    telemetry value;
    value.run = "a run";
    value.loss.value = std::numeric_limits<double>::quiet_NaN();
    value.progress_epsilon.value = std::numeric_limits<double>::infinity();
    value.noise_multiplier.value = std::numeric_limits<double>::denorm_min();
    value.radii = {{-0.0}, {0.1}};
    const auto back = through_the_wire(run.system, value);
    CHECK(back.run == "a run");
    CHECK(std::isnan(back.loss.value));
    CHECK(std::isinf(back.progress_epsilon.value));
    CHECK(back.noise_multiplier.value == std::numeric_limits<double>::denorm_min());
    REQUIRE(back.radii.size() == 2);
    CHECK(std::signbit(back.radii[0].value));
    CHECK(back.radii[1].value == 0.1);
}

TEST_CASE("a monitor address is a loopback HOST:PORT, or refused in one line") {
    CHECK(loopback_endpoint("127.0.0.1:4242").port == 4242);
    CHECK(loopback_endpoint("localhost:1").host == "localhost");
    for (const auto* wrong : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:12x"})
        CHECK_THROWS_AS(loopback_endpoint(wrong), rldp::error);
    try {
        loopback_endpoint("0.0.0.0:4242");
        FAIL("a public address was accepted");
    } catch (const rldp::error& refusal) {
        CHECK(std::string(refusal.what()).find("monitor.tls") != std::string::npos);
    }
}

TEST_CASE("the progress line fits its width and shows step, loss, ε and the time left") {
    telemetry value;
    value.run = "demo";
    value.state = "running";
    value.step = 30;
    value.steps = 120;
    value.loss.value = 1.5;
    value.progress_epsilon.value = 2.25;
    value.epsilon.value = 8;
    value.guaranteed_epsilon.value = 7.99;
    value.perplexity.value = std::nan("");
    const auto line = monitor::progress_line(value, std::chrono::seconds(75), 100);
    for (const auto* part : {"demo", "step 30/120", "loss 1.500", "ε ~2.25 of 8.00 guaranteed", "00:01:15 left"})
        CHECK(line.find(part) != std::string::npos);
    CHECK(monitor::progress_line(value, std::chrono::seconds(75), 10).find("░") == std::string::npos);

    value.guaranteed_epsilon.value = std::numeric_limits<double>::infinity();
    CHECK(monitor::progress_line(value, {}, 100).find("NO GUARANTEE") != std::string::npos);

    monitor::time_left time;
    const auto start = monitor::time_left::clock::time_point{};
    time.observe(value, start);
    CHECK_FALSE(time.estimate());
    value.step = 60;
    time.observe(value, start + std::chrono::seconds(30));
    CHECK(time.estimate() == std::chrono::seconds(60));
}
