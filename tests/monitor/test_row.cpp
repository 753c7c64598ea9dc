// What a run sends is read back to the last bit; what a stranger sends is read or refused, never obeyed.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "monitor/view/run_view.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using rldp::eval::quantity;
using rldp::monitor::parse_row;
using rldp::monitor::run_view;
using rldp::monitor::to_row;
using json = nlohmann::ordered_json;

namespace {

run_view some_run() {
    run_view out;
    out.id = out.name = "a run";
    out.title = "pilot";
    out.tags = {"a", "b"};
    out.method = "static";
    out.model = "m";
    out.data = "d";
    out.held_out = "private";
    out.ledger_head = "0123";
    out.problem = "metrics.jsonl:3: damaged";
    out.has_report = out.has_certificate = true;
    out.state = "running";
    out.step = 3;
    out.steps = 100;
    double value = 0.1;
    for (const auto& row : rldp::eval::quantities) {
        auto& one = out.latest[row.which];
        one.value = value += 0.2;
        if (row.within) one.within = {value / 3, value * 3};
    }
    out.progress_step = 2;
    out.evaluated_step = 2;
    out.perplexity_before = 80;
    auto& promised = out.contract.emplace();
    promised.any = true;
    promised.epsilon_guaranteed = 7.9;
    promised.epsilon_budget = 8;
    promised.delta = 1e-5;
    return out;
}

/// The refusal of a row that differs from a good one in `key`.
std::string refused(const std::string& key, const json& value) {
    auto line = json::parse(to_row(some_run()));
    line[key] = value;
    return refusal([&] { parse_row(line.dump()); });
}

std::string name_as_read(const std::string& name) {
    auto run = some_run();
    run.name = name;
    return parse_row(to_row(run)).name;
}

}  // namespace

TEST_CASE("a row crosses bit for bit, with every quantity that is watched, and what is not finite is unknown") {
    auto run = some_run();
    run.step = 999'999'999'999'999;
    run.latest[quantity::loss].value = std::numeric_limits<double>::quiet_NaN();
    run.latest[quantity::noise_multiplier].value = std::numeric_limits<double>::denorm_min();
    run.latest[quantity::perplexity].within.reset();
    run.contract->epsilon_budget = std::numeric_limits<double>::max();
    run.contract->epsilon_guaranteed = std::numeric_limits<double>::infinity();
    const auto line = to_row(run);
    CHECK(line.find('\n') == std::string::npos);
    const auto back = parse_row(line);
    CHECK(to_row(back) == line);
    for (const auto& row : rldp::eval::quantities) {
        INFO(row.name);
        const auto& sent = run.latest[row.which];
        const auto& read = back.latest[row.which];
        CHECK((read.value == sent.value || (std::isnan(read.value) && std::isnan(sent.value))));
        CHECK(read.within == sent.within);
    }
    CHECK(back.step == 999'999'999'999'999);
    CHECK(back.contract->epsilon_budget == std::numeric_limits<double>::max());
    CHECK(std::isnan(back.contract->epsilon_guaranteed));
    run.contract.reset();
    CHECK_FALSE(parse_row(to_row(run)).contract);
}

TEST_CASE("what is no row is refused in one short line") {
    for (const auto* line : {"", " ", "null", "1", "[]", "{", "{\"name\":", "\xff\xfe", "{\"name\": \"\xc3\x28\"}",
                             "{\"loss\": 1e999}", "{} {}"})
        CHECK(refusal([&] { parse_row(line); }).starts_with("not a run's row: "));
    CHECK(refusal([] { parse_row(std::string(1'000'000, '[')); }) == "not a run's row: no JSON");
    for (const auto* key : {"id", "name", "state", "step", "steps", "evaluated_step", "progress_step"}) {
        INFO(key);
        auto line = json::parse(to_row(some_run()));
        line.erase(key);
        CHECK(refusal([&] { parse_row(line.dump()); }) == "not a run's row: '" + std::string(key) + "' is missing");
        for (const auto& other : {json(nullptr), json(true), json::object(), json(std::string(100'000, 'x'))}) {
            const auto text = refused(key, other);
            CHECK(text.starts_with("not a run's row: '" + std::string(key) + "' is "));
            CHECK(text.size() < 100);
        }
    }
    for (const auto& other : {json("1"), json(true), json::array({1.0})}) CHECK_FALSE(refused("loss", other).empty());
    for (const auto& other : {json(1.0), json::array({1.0}), json::array({1.0, "2"}), json::array({1.0, 2.0, 3.0})})
        CHECK_FALSE(refused("perplexity_in", other).empty());
    for (const auto* key : {"guarantee", "report"}) CHECK_FALSE(refused(key, "yes").empty());
    for (const auto& other : {json(1), json(std::string(4097, 'x'))}) CHECK_FALSE(refused("title", other).empty());
    for (const auto& other : {json("a"), json::array({1}), json(json::array_t(257, "a"))})
        CHECK_FALSE(refused("tags", other).empty());
    CHECK(refused("loss", nullptr).empty());
    CHECK(refused("perplexity_in", nullptr).empty());
}

TEST_CASE("counts are whole numbers that can be counted to") {
    for (const auto* key : {"step", "steps", "evaluated_step", "progress_step"}) {
        CHECK_FALSE(refused(key, -1).empty());
        CHECK_FALSE(refused(key, std::numeric_limits<std::int64_t>::min()).empty());
        CHECK_FALSE(refused(key, 1.0).empty());
        CHECK_FALSE(refused(key, std::numeric_limits<std::uint64_t>::max()).empty());
        CHECK_FALSE(refused(key, 1'000'000'000'000'001).empty());
        CHECK(refused(key, 0).empty());
        CHECK(refused(key, 1'000'000'000'000'000).empty());
    }
}

TEST_CASE("no text that a peer sends can command a terminal") {
    for (const auto* key : {"id", "name", "state"}) {
        for (const auto* hostile : {"\x1b]0;owned\x07", "a\rb", "a\nb", "\x7f",
                                    "\xc2\x9b"
                                    "2J",
                                    "\xc2\x80"})
            CHECK(refused(key, hostile) == "not a run's row: '" + std::string(key) + "' has control characters");
        CHECK_FALSE(refused(key, std::string("a\0b", 3)).empty());
        CHECK_FALSE(refused(key, std::string(4097, 'x')).empty());
        CHECK(refused(key, std::string(4096, 'x')).empty());
        CHECK(refused(key, "Ünïcode – ok \xc2\xa0").empty());
    }
}

TEST_CASE("a run of any name can be watched") {
    CHECK(name_as_read("Größe 3") == "Größe 3");
    CHECK(name_as_read("a\x1b[2Jb\n") == "a\\x1b[2Jb\\x0a");
    CHECK(name_as_read("\xff") == "\\xff");
}

TEST_CASE("a later line of the run log tells more, an earlier one nothing of what came since") {
    const auto step = [](std::int64_t number, double loss, rldp::eval::progress_price progress) {
        rldp::eval::metrics_line out;
        out.step = number;
        out.loss_released = loss;
        out.noise_multiplier = 0.5;
        out.radii = {0.25, 0.75};
        out.progress = progress;
        return out;
    };
    run_view run;
    rldp::eval::metrics_line before;
    before.eval_perplexity = 90;
    run.observe(before);
    CHECK(run.perplexity_before == 90);
    run.observe(step(4, 2, {1.0, 4}));
    CHECK(run.value(quantity::mean_radius) == 0.5);
    CHECK(run.value(quantity::noise_multiplier) == 0.5);
    run.observe(step(5, 3, {1.0, 4}));
    auto evaluated = step(4, 2, {1.5, 4});  // an evaluation and another price of a step that is over
    evaluated.eval_perplexity = 60;
    evaluated.eval_perplexity_in = {50, 70};
    run.observe(evaluated);
    CHECK(run.step == 5);
    CHECK(run.value(quantity::loss) == 3);
    CHECK(run.value(quantity::perplexity) == 60);
    CHECK(run.latest[quantity::perplexity].within == rldp::eval::interval{50, 70});
    CHECK(run.evaluated_step == 4);
    CHECK(run.value(quantity::epsilon_spent) == 1.5);
    run.observe(step(6, 4, {1.0, 3}));
    CHECK(run.value(quantity::epsilon_spent) == 1.5);
    CHECK(run.progress_step == 4);
}
