// What a run sends is read back to the last bit; what a stranger sends is read or refused, never obeyed.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "monitor/stream/telemetry_json.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using rldp::monitor::telemetry;
using rldp::monitor::telemetry_from;
using json = nlohmann::ordered_json;

namespace {

telemetry some_value() {
    telemetry out;
    out.run = "a run";
    out.state = "running";
    out.step = 3;
    out.steps = 100;
    out.loss = 1.5;
    out.noise_multiplier = 0.7;
    out.epsilon_spent = 0.5;
    out.progress_step = 2;
    out.epsilon_guaranteed = 7.9;
    out.epsilon_budget = 8;
    out.evaluated_step = 2;
    out.perplexity = 6.5;
    out.radii = {0.1, 0.2};
    return out;
}

/// The refusal of a line that differs from a good one in `key`.
std::string refused(const char* key, const json& value) {
    auto line = json::parse(rldp::monitor::to_json(some_value()));
    line[key] = value;
    return refusal([&] { telemetry_from(line.dump()); });
}

/// The text that a run's name becomes on the other side.
std::string name_as_read(const std::string& name) {
    auto value = some_value();
    value.run = name;
    return telemetry_from(rldp::monitor::to_json(value)).run;
}

}  // namespace

TEST_CASE("telemetry crosses bit for bit, infinities, NaN and subnormals too") {
    auto value = some_value();
    value.step = 999'999'999'999'999;
    value.loss = std::numeric_limits<double>::quiet_NaN();
    value.epsilon_spent = std::numeric_limits<double>::infinity();
    value.epsilon_guaranteed = -std::numeric_limits<double>::infinity();
    value.noise_multiplier = std::numeric_limits<double>::denorm_min();
    value.epsilon_budget = std::numeric_limits<double>::max();
    value.perplexity = 0.1 + 0.2;
    value.radii = {-0.0, 0.1, 3 * std::numeric_limits<double>::denorm_min()};
    const auto line = rldp::monitor::to_json(value);
    CHECK(line.find('\n') == std::string::npos);
    const auto back = telemetry_from(line);
    CHECK(back.run == "a run");
    CHECK(back.state == "running");
    CHECK(back.step == 999'999'999'999'999);
    CHECK(back.steps == 100);
    CHECK(std::isnan(back.loss));
    CHECK(back.progress_step == 2);
    CHECK(back.epsilon_spent == std::numeric_limits<double>::infinity());
    CHECK(back.epsilon_guaranteed == -std::numeric_limits<double>::infinity());
    CHECK(back.noise_multiplier == std::numeric_limits<double>::denorm_min());
    CHECK(back.epsilon_budget == std::numeric_limits<double>::max());
    CHECK(back.evaluated_step == 2);
    CHECK(back.perplexity == 0.1 + 0.2);
    CHECK(back.radii == value.radii);
    CHECK(std::signbit(back.radii[0]));
}

TEST_CASE("what is no telemetry is refused in one short line") {
    for (const auto* line : {"", " ", "null", "1", "[]", "{", "{\"run\":", "\xff\xfe", "{\"run\": \"\xc3\x28\"}",
                             "{\"loss\": 1e999}", "{} {}"})
        CHECK(refusal([&] { telemetry_from(line); }).starts_with("not a run's telemetry: "));
    CHECK(refusal([] { telemetry_from(std::string(1'000'000, '[')); }) == "not a run's telemetry: no JSON");
    const auto good = json::parse(rldp::monitor::to_json(some_value()));
    for (const auto& [key, value] : good.items()) {
        INFO(key);
        auto line = good;
        line.erase(key);
        CHECK(refusal([&] { telemetry_from(line.dump()); }) == "not a run's telemetry: '" + key + "' is missing");
        for (const auto& other : {json(nullptr), json(true), json::object(), json(std::string(100'000, 'x'))}) {
            const auto text = refused(key.c_str(), other);
            CHECK(text.starts_with("not a run's telemetry: '" + key + "' is "));
            CHECK(text.size() < 100);
        }
    }
    CHECK_FALSE(refused("run", 1).empty());
    CHECK_FALSE(refused("radii", json{0.1, "wide"}).empty());
    CHECK_FALSE(refused("loss", json::array()).empty());
}

TEST_CASE("counts are whole numbers that can be counted to") {
    for (const auto* key : {"step", "steps", "evaluated_step"}) {
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
    for (const auto* key : {"run", "state"}) {
        for (const auto* hostile : {"\x1b]0;owned\x07", "a\rb", "a\nb", "\x7f",
                                    "\xc2\x9b"
                                    "2J",
                                    "\xc2\x80"})
            CHECK(refused(key, hostile) == "not a run's telemetry: '" + std::string(key) + "' has control characters");
        CHECK_FALSE(refused(key, std::string("a\0b", 3)).empty());
        CHECK_FALSE(refused(key, std::string(257, 'x')).empty());
        CHECK(refused(key, std::string(256, 'x')).empty());
        CHECK(refused(key, "Ünïcode – ok \xc2\xa0").empty());
    }
}

TEST_CASE("at most a million radii are read") {
    CHECK(refused("radii", json::array_t(1'000'000, json(0.5))).empty());
    CHECK(refused("radii", json::array_t(1'000'001, json(0.5))) == "not a run's telemetry: too many radii");
}

TEST_CASE("a run of any name can be watched") {
    CHECK(name_as_read("Größe 3") == "Größe 3");
    CHECK(name_as_read("a\x1b[2Jb\n") == "a\\x1b[2Jb\\x0a");
    CHECK(name_as_read("\xc2\x9b"
                       "c") == "\\xc2\\x9bc");
    CHECK(name_as_read("\xff") == "\\xff");
    CHECK(name_as_read(std::string(1000, 'x')) == std::string(256, 'x'));
    CHECK(name_as_read("x" + std::string(300, '\xff')).size() == 256);
    std::string umlauts;
    for (int i = 0; i < 200; ++i) umlauts += "ä";
    CHECK(name_as_read("x" + umlauts).size() == 255);  // no half character
}
