// The hub's run log and its watchers: bounded, latest value wins, at most one tick a second.
#include <caf/all.hpp>

#include "actors/display.hpp"
#include "actors/hub.hpp"
#include "base/files.hpp"
#include "run/artifacts/metrics.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

eval::metrics_line make_line(std::int64_t step, double loss) {
    eval::metrics_line line;
    line.step = step;
    line.loss_released = loss;
    line.noise_multiplier = 0.7;
    line.radii = {0.1, 0.2};
    line.progress = {0.5, 1};
    line.ledger = "charge " + std::to_string(step);
    return line;
}

struct watched_hub : deterministic {
    explicit watched_hub(const std::vector<eval::metrics_line>& known = {}, const show& tell = {},
                         const std::vector<std::int64_t>& awaited = {}) {
        hub = spawn(make_hub, std::string("test run"), tell);
        if (!known.empty()) eval::write_metrics(scratch / "metrics.jsonl", known);
        self->send(hub, announce_atom::value,
                   run_header{(scratch / "metrics.jsonl").string(), 100, 8, 7.9, awaited, "header"});
        run();
    }
    /// A watcher that acknowledges only when the test says so.
    display_actor silent_watcher(std::vector<run_view>& seen) {
        return spawn([&seen](display_actor::pointer) -> display_actor::behavior_type {
            return {[&seen](const run_view& value) { seen.push_back(value); }};
        });
    }
    /// Five steps; the evaluation of one of them comes behind the last.
    void steps_evaluated_at(std::int64_t which) {
        for (std::int64_t step = 1; step <= 5; ++step) {
            self->send(hub, metrics_atom::value, make_line(step, 2.0));
            if (step == which) self->send(hub, evaluate_atom::value, step);
        }
        self->send(hub, evaluated_atom::value, which, eval::scores{4.5, {}});
        run();
    }
    void second() {
        scheduler.advance_time(tick_interval);
        run();
    }
    scratch_directory scratch;
    hub_actor hub;
};

}  // namespace

TEST_CASE("a watcher that falls silent gets one message, and the latest value once it acknowledges") {
    watched_hub side;
    std::vector<run_view> seen;
    const auto watcher = side.silent_watcher(seen);
    const auto first = side.ask<run_view>(side.hub, subscribe_atom::value, watcher);
    REQUIRE(first);
    CHECK(first->name == "test run");
    for (std::int64_t step = 1; step <= 50; ++step) {
        side.self->send(side.hub, metrics_atom::value, make_line(step, 2.0));
        side.run();
        side.second();
    }
    CHECK(seen.empty());  // it owes an acknowledgement for the answer to its subscription
    caf::anon_send(side.hub, ack_atom::value);
    side.run();
    CHECK(seen.empty());  // somebody else's acknowledgement does not count
    const caf::message ack = caf::make_message(ack_atom::value);
    caf::actor_cast<caf::actor>(side.hub)->enqueue(caf::actor_cast<caf::strong_actor_ptr>(watcher),
                                                   caf::make_message_id(), ack, nullptr);
    side.run();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].step == 50);
}

TEST_CASE("a resumed run is shown from where it stood, before its first step") {
    auto evaluated = make_line(41, 2.5);
    evaluated.eval_perplexity = 17;
    watched_hub side({make_line(40, 2.6), evaluated, make_line(42, 2.4)});
    std::vector<run_view> seen;
    const auto first = side.ask<run_view>(side.hub, subscribe_atom::value, side.silent_watcher(seen));
    REQUIRE(first);
    side.second();
    const auto now = side.ask<run_view>(side.hub, subscribe_atom::value, side.silent_watcher(seen));
    REQUIRE(now);
    CHECK(now->step == 42);
    CHECK(now->value(eval::quantity::noise_multiplier) == 0.7);
    CHECK(now->value(eval::quantity::epsilon_spent) == 0.5);
    CHECK(now->value(eval::quantity::perplexity) == 17);
    CHECK(now->evaluated_step == 41);
    CHECK(now->value(eval::quantity::mean_radius) == Approx(0.15));
}

TEST_CASE("ticks come at most once a second and show averages") {
    watched_hub side;
    std::vector<run_view> seen;
    const auto display = side.spawn(make_display, side.hub, show([&](const run_view& t) { seen.push_back(t); }));
    side.run();
    const auto before = seen.size();
    for (std::int64_t step = 1; step <= 4; ++step)
        side.self->send(side.hub, metrics_atom::value, make_line(step, static_cast<double>(step)));
    side.run();
    CHECK(seen.size() == before);
    side.second();
    REQUIRE(seen.size() == before + 1);
    CHECK(seen.back().step == 4);
    CHECK(seen.back().value(eval::quantity::loss) == Approx(2.5));
    side.second();
    CHECK(seen.size() == before + 1);  // nothing new, nothing sent
}

TEST_CASE("who subscribes between two ticks sees the last tick, not the step under way") {
    watched_hub side;
    side.self->send(side.hub, metrics_atom::value, make_line(1, 2.0));
    side.run();
    side.second();
    side.self->send(side.hub, metrics_atom::value, make_line(2, 2.0));
    side.run();
    std::vector<run_view> seen;
    const auto first = side.ask<run_view>(side.hub, subscribe_atom::value, side.silent_watcher(seen));
    REQUIRE(first);
    CHECK(first->step == 1);
    side.second();
    const auto later = side.ask<run_view>(side.hub, subscribe_atom::value, side.silent_watcher(seen));
    REQUIRE(later);
    CHECK(later->step == 2);
}

TEST_CASE("how a run ended is told to who still owes an acknowledgement, too") {
    watched_hub side;
    std::vector<run_view> seen;
    REQUIRE(side.ask<run_view>(side.hub, subscribe_atom::value, side.silent_watcher(seen)));
    side.self->send(side.hub, metrics_atom::value, make_line(7, 2.0));
    side.run();
    side.second();
    CHECK(seen.empty());
    side.self->send(side.hub, state_atom::value, std::string("done"));
    side.run();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].step == 7);
    CHECK(seen[0].state == "done");
}

TEST_CASE("the finished run log is in the order of steps, whenever evaluations came in") {
    watched_hub side;
    side.steps_evaluated_at(2);
    side.self->send(side.hub, state_atom::value, std::string("done"));
    side.run();
    const auto text = read_file(side.scratch / "metrics.jsonl");
    CHECK(std::count(text.begin(), text.end(), '\n') == 5);
    CHECK(eval::read_metrics(side.scratch / "metrics.jsonl")[1].eval_perplexity == 4.5);
}

TEST_CASE("every line names its line of the ledger, an evaluation before the first step the header's") {
    watched_hub side;
    side.self->send(side.hub, evaluate_atom::value, std::int64_t{0});
    side.self->send(side.hub, evaluated_atom::value, std::int64_t{0}, eval::scores{4.5, {}});
    side.steps_evaluated_at(3);
    std::vector<std::string> named;
    eval::each_line(side.scratch / "metrics.jsonl", [&](auto& one) { named.push_back(one.line.ledger); });
    CHECK(named ==
          std::vector<std::string>{"header", "charge 1", "charge 2", "charge 3", "charge 3", "charge 4", "charge 5"});
}

TEST_CASE("however many steps there were, the hub holds the lines that may still change") {
    watched_hub side;
    for (std::int64_t step = 1; step <= 1000; ++step) {
        side.self->send(side.hub, metrics_atom::value, make_line(step, 2.0));
        if (step == 400) side.self->send(side.hub, evaluate_atom::value, step);
        side.run();
    }
    CHECK(side.state<hub_state>(side.hub).open.size() == 2);
    side.self->send(side.hub, evaluated_atom::value, std::int64_t{400}, eval::scores{4.5, {}});
    side.self->send(side.hub, metrics_atom::value, make_line(1001, 2.0));
    side.run();
    CHECK(side.state<hub_state>(side.hub).open.size() == 1);
    CHECK(side.state<hub_state>(side.hub).held.empty());
    const auto lines = eval::read_metrics(side.scratch / "metrics.jsonl");
    REQUIRE(lines.size() == 1001);
    CHECK((lines[399].eval_perplexity && lines[399].loss_released));
}

TEST_CASE("the run log has every step, and an evaluation that came later is merged into its step") {
    watched_hub side;
    side.steps_evaluated_at(3);
    const auto lines = eval::read_metrics(side.scratch / "metrics.jsonl");
    REQUIRE(lines.size() == 5);
    CHECK(*lines[2].eval_perplexity == 4.5);
    CHECK(*lines[2].loss_released == 2.0);
    CHECK_FALSE(lines[3].eval_perplexity);
}

TEST_CASE(
    "a price joins its step's line, also of a step that an earlier process made, and an interrupt's is only shown") {
    watched_hub side;
    const auto path = side.scratch / "resumed.jsonl";
    eval::write_metrics(path, {make_line(4, 2), make_line(5, 2)});
    side.self->send(side.hub, announce_atom::value, run_header{path.string(), 100, 8, 7.9});
    side.run();
    const auto last = [&] { return eval::read_metrics(path).back(); };
    side.self->send(side.hub, progress_atom::value, std::int64_t{5}, 1.5, false);
    side.run();
    CHECK(last().progress == eval::progress_price{0.5, 1});
    side.second();
    std::vector<run_view> seen;
    const auto shown = side.ask<run_view>(side.hub, subscribe_atom::value, side.silent_watcher(seen));
    REQUIRE(shown);
    CHECK((shown->value(eval::quantity::epsilon_spent) == 1.5 && shown->progress_step == 5));
    side.self->send(side.hub, progress_atom::value, std::int64_t{5}, 1.5, true);
    side.run();
    CHECK(last().progress == eval::progress_price{1.5, 5});
    CHECK(last().loss_released == 2);
    side.self->send(side.hub, metrics_atom::value, make_line(6, 3));
    side.self->send(side.hub, progress_atom::value, std::int64_t{6}, 1.75, true);
    side.run();
    CHECK(last().progress == eval::progress_price{1.75, 6});
    CHECK(eval::read_metrics(path).size() == 3);
}

// Else the place of an evaluation among the steps tells how long it took.
TEST_CASE("what happens after an evaluation began is logged and told after it, however long it takes") {
    std::vector<std::string> heard;
    const show tell = [&](const run_view& seen) {
        heard.push_back(std::to_string(seen.step) + " " + std::to_string(seen.evaluated_step));
    };
    watched_hub side({make_line(3, 2)}, tell, {3});
    const auto logged = [&] {
        std::string out;
        const auto text = read_file(side.scratch / "metrics.jsonl");
        for (std::size_t at = 0; (at = text.find("\"step\":", at)) != std::string::npos; ++at) out += text[at + 7];
        return out;
    };
    const auto step = [&](std::int64_t number) {
        side.self->send(side.hub, metrics_atom::value, make_line(number, 2.0));
        side.run();
    };
    const auto evaluated = [&](std::int64_t number) {
        side.self->send(side.hub, evaluated_atom::value, number, eval::scores{});
        side.run();
    };
    step(4);
    CHECK(logged() == "3");  // a resumed run's own evaluation is under way
    evaluated(3);
    CHECK(logged() == "334");
    side.self->send(side.hub, evaluate_atom::value, std::int64_t{4});
    step(5);
    step(6);
    CHECK(logged() == "334");
    CHECK(heard == std::vector<std::string>{"4 3"});
    side.self->send(side.hub, sync_atom::value);  // a checkpoint must not be ahead of the log
    side.run();
    CHECK(logged() == "33456");
    step(7);
    evaluated(4);
    CHECK(logged() == "3345647");
    step(8);
    CHECK(heard == std::vector<std::string>{"4 3", "5 3", "6 3", "7 4", "8 4"});
    side.self->send(side.hub, evaluate_atom::value, std::int64_t{8});
    step(9);
    side.self->send(side.hub, state_atom::value, std::string("stopping"));
    side.run();
    CHECK(heard.size() == 5);
    side.self->send(side.hub, state_atom::value, std::string("done"));
    side.run();
    CHECK(logged() == "3456789");
    CHECK(heard.size() == 8);
}
