#include "privacy/spending/ledger.hpp"

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "privacy/spending/ledger_format.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;

namespace {

ledger_header header(bool with_deck) {
    ledger_header h;
    h.delta = 1e-5;
    h.sample_rate = 16.0 / 73271;
    h.population = 73271;
    h.steps = 30;
    h.policy = with_deck ? "deck" : "fixed";
    h.accountant = "pld";
    h.semantics = rldp::semantics::sound;
    h.unit = "record";
    h.split = "hash";
    if (with_deck) h.deck = {{0.1 + 0.2, 10}, {1.0 / 3, 20}};
    h.epsilon_budget = 2;
    h.epsilon_guaranteed = 1.9999999999999998;
    h.data_hmac = std::string(64, 'a');
    return h;
}

std::string load_text(const std::filesystem::path& path) {
    return rldp::read_file(path);
}

void put(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

/// Three charges under a deck.
std::filesystem::path small_ledger(const scratch_directory& dir) {
    const auto path = dir / "ledger.jsonl";
    const auto h = header(true);
    auto subject = ledger::create(path, h);
    subject.append(1, h.deck[1].noise_multiplier, h.sample_rate, 1);
    subject.append(2, h.deck[1].noise_multiplier, h.sample_rate, 1);
    subject.append(4, h.deck[0].noise_multiplier, h.sample_rate, 0);
    return path;
}

std::vector<std::string> split_lines(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string out;
    for (const auto& line : lines) out += line + "\n";
    return out;
}

}  // namespace

// One is held for every step of a run.
TEST_CASE("a charge is held in 112 bytes, and made again as its line says") {
    STATIC_REQUIRE(sizeof(charge_list::numbers) <= 112);
    const scratch_directory dir;
    const auto content = read_ledger(small_ledger(dir));
    std::vector<std::string> texts;
    for (const auto& made : content.charges) texts.push_back(rldp::privacy::format_charge(made));
    auto expected = split_lines(load_text(dir / "ledger.jsonl"));
    expected.erase(expected.begin());
    CHECK(texts == expected);
    CHECK(content.charges.back()->seq == 3);
    CHECK(content.find_hash(0) == content.header_hash);
    CHECK(content.find_hash(2) == content.charges[1]->hash);
    CHECK(content.find_hash(3).empty());  // never charged
    CHECK(content.find_hash(4) == content.charges[2]->hash);
    CHECK(content.find_hash(5).empty());
    CHECK(content.charges_through(3) == 2);
}

TEST_CASE("a ledger reads back to the bit") {
    const scratch_directory dir;
    const auto path = small_ledger(dir);
    const auto content = read_ledger(path);
    CHECK(content.header.sample_rate == 16.0 / 73271);
    CHECK(content.header.epsilon_guaranteed == 1.9999999999999998);
    CHECK(content.header.deck[0].noise_multiplier == 0.1 + 0.2);
    REQUIRE(content.charges.size() == 3);
    CHECK(content.charges[2]->seq == 3);
    CHECK(content.charges[2]->step == 4);
    CHECK(content.charges[2]->prev == content.charges[1]->hash);
    CHECK(content.charges[0]->prev == content.header_hash);
    CHECK(content.dealt == std::vector<std::int64_t>{1, 2});
    CHECK_FALSE(content.torn);
    const auto phases = content.phases();
    REQUIRE(phases.size() == 2);
    CHECK(phases[0].steps == 2);
    CHECK(phases[1].noise_multiplier == 0.1 + 0.2);

    auto subject = ledger::open(path);
    CHECK(subject.append(5, 0.1 + 0.2, 16.0 / 73271, 0)->seq == 4);
    CHECK(read_ledger(path).charges.size() == 4);
}

TEST_CASE("a hash is SHA-256 of the canonical line without it") {
    // printf '{"card":null,"noise_multiplier":0.5,"prev":"p","sample_rate":0.25,"seq":1,"step":1}' | sha256sum
    ledger_line line{1, 1, 0.5, 0.25, {}, "p", {}};
    const auto text = detail::format(line);
    CHECK(line.hash == "3dc63fd850ad6f04f34bfc7124d1e56a494b72fc5c1dcd593e8d594f880c3527");
    CHECK(text == "{\"card\":null,\"hash\":\"" + line.hash +
                      "\",\"noise_multiplier\":0.5,\"prev\":\"p\",\"sample_rate\":0.25,\"seq\":1,\"step\":1}");
}

TEST_CASE("every field that is edited is noticed, with the line's number") {
    const scratch_directory dir;
    const auto path = small_ledger(dir);
    const auto lines = split_lines(load_text(path));
    int edits = 0;
    for (std::size_t number = 0; number < lines.size(); ++number) {
        const auto original = nlohmann::json::parse(lines[number]);
        for (const auto& [name, value] : original.items()) {
            auto edited = original;
            if (value.is_number_integer()) edited[name] = value.get<std::int64_t>() + 1;
            if (value.is_number_float()) edited[name] = std::nextafter(value.get<double>(), 1e9);
            if (value.is_string()) edited[name] = value.get<std::string>() + "0";
            if (value.is_boolean()) edited[name] = !value.get<bool>();
            if (value.is_array()) edited[name][0]["steps"] = 11;
            if (value.is_object()) edited[name]["count"] = 11;
            if (value.is_null()) edited[name] = 1;
            auto changed = lines;
            changed[number] = edited.dump();
            put(path, joined(changed));
            INFO(name);
            CHECK(has(refusal([&] { read_ledger(path); }), "line " + std::to_string(number + 1)));
            edited.erase(name);
            changed[number] = edited.dump();
            put(path, joined(changed));
            CHECK(has(refusal([&] { read_ledger(path); }), "line " + std::to_string(number + 1)));
            ++edits;
        }
    }
    CHECK(edits == 22 + 3 * 7);
}

TEST_CASE("lines that are removed, swapped, doubled, respelt or rewritten are noticed") {
    const scratch_directory dir;
    const auto path = small_ledger(dir);
    const auto lines = split_lines(load_text(path));
    const auto refused = [&](const std::vector<std::string>& changed) {
        put(path, joined(changed));
        return refusal([&] { read_ledger(path); });
    };
    CHECK(has(refused({lines[0], lines[2], lines[3]}), "line 2: seq 1 was expected, not 2"));
    CHECK(has(refused({lines[0], lines[2], lines[1], lines[3]}), "line 2"));
    CHECK(has(refused({lines[0], lines[1], lines[1], lines[2]}), "line 3"));
    CHECK(has(refused({lines[1], lines[2]}), "line 1"));
    CHECK(has(refused({lines[0], " " + lines[1]}), "canonical"));
    CHECK(has(refused({lines[0], lines[1], ""}), "line 3: not a JSON object"));
    CHECK(refused({lines[0], lines[1]}).empty());  // what a chain can't show: an end that was cut off whole

    // An edit that also mends its own hash breaks the chain at the next line.
    auto third = detail::parse_line(lines[2]);
    third.step = 3;
    CHECK(has(refused({lines[0], lines[1], detail::format(third), lines[3]}), "line 4: prev is not"));
    // Another run's charges under this header.
    auto other = header(true);
    other.data_hmac = std::string(64, 'b');
    std::string hash;
    CHECK(has(refused({detail::format(other, hash), lines[1]}), "line 2: prev is not"));
}

TEST_CASE("a ledger of noise in bands counts rounds, charges the group's rate, and is read back") {
    const scratch_directory dir;
    auto h = header(false);
    h.sample_rate = 0.01;
    h.bands = 4;
    CHECK(h.step_rate() == 0.04);
    auto book = ledger::create(dir / "ledger.jsonl", h);
    CHECK(has(refusal([&] { book.append(1, 0.7, h.sample_rate, std::nullopt); }), "the plan's is 0.04"));
    for (std::int64_t step = 1; step <= 9; ++step) book.append(step, 0.7, h.step_rate(), std::nullopt);
    const auto content = read_ledger(dir / "ledger.jsonl");
    CHECK(content.header.bands == 4);
    const auto check_rounds = [](const std::vector<phase>& of, std::int64_t rounds) {
        REQUIRE(of.size() == 1);
        CHECK(of[0].sample_rate == 0.04);
        CHECK(of[0].noise_multiplier == 0.7);
        CHECK(of[0].steps == rounds);
    };
    check_rounds(content.phases(), 3);
    check_rounds(content.phases(8), 2);
    check_rounds(content.phases(1), 1);
    CHECK(content.phases(0).empty());
    // A torn charge is a step more, which here begins no round.
    const auto text = load_text(dir / "ledger.jsonl");
    put(dir / "torn.jsonl", text.substr(0, text.size() - 5));
    const auto torn = read_ledger(dir / "torn.jsonl");
    CHECK(torn.torn);
    check_rounds(torn.phases(8), 2);
    check_rounds(torn.phases(), 3);
    const auto refused = [&](auto change) {
        auto wrong = h;
        change(wrong);
        return refusal([&] { ledger::create(dir / "wrong.jsonl", wrong); });
    };
    CHECK(has(refused([](auto& of) { of.bands = 31; }), "30 steps"));
    CHECK(has(refused([](auto& of) { of.bands = 0; }), "bands"));
    CHECK(has(refused([](auto& of) { of.population = 39; }), "fewer than 10 units"));
    CHECK(has(refused([](auto& of) { of.sample_rate = 0.3; }), "above 1"));
    CHECK(has(refused([](auto& of) { of.policy = "filter"; }), "policy filter"));
    CHECK(has(refused([](auto& of) { of.runs = 0; }), "runs must be from 1 to 100"));
    CHECK(has(refused([](auto& of) { of.runs = 101; }), "runs must be from 1 to 100"));
}

TEST_CASE("another version is refused by both names") {
    const scratch_directory dir;
    const auto path = dir / "ledger.jsonl";
    put(path, "{\"version\":6,\"something\":\"new\"}\n");
    const auto text = refusal([&] { read_ledger(path); });
    CHECK(has(text, "version 6"));
    CHECK(has(text, "newer than 5"));
    put(path, "{\"version\":1}\n");
    CHECK(has(refusal([&] { read_ledger(path); }), "older than 2"));
    auto old = header(false);
    old.version = 0;
    CHECK(has(refusal([&] { ledger::create(dir / "old", old); }), "version 0"));
}

TEST_CASE("wherever the last line is torn, whole lines stand and its charge counts until it is replaced") {
    const scratch_directory dir;
    const auto path = small_ledger(dir);
    const auto text = load_text(path);
    const auto start = text.rfind('\n', text.size() - 2) + 1;
    for (std::size_t length = start + 1; length < text.size(); ++length) {
        put(path, text.substr(0, length));
        const auto content = read_ledger(path);
        REQUIRE(content.torn);
        REQUIRE(content.whole_bytes == start);
        REQUIRE(content.charges.size() == 2);
        REQUIRE(content.phases().size() == 2);
        REQUIRE(content.phases().back().noise_multiplier == 0.1 + 0.2);  // the least of the deck
    }
    {
        auto subject = ledger::open(path);
        CHECK(subject.content().torn);
        CHECK(load_text(path).size() == text.size() - 1);  // opening alone forgets nothing
        CHECK(subject.append(3, 1.0 / 3, 16.0 / 73271, 1)->seq == 3);
        CHECK_FALSE(subject.content().torn);
    }
    const auto content = read_ledger(path);
    CHECK_FALSE(content.torn);
    CHECK(content.charges.size() == 3);
    put(path, text.substr(0, 20));
    CHECK(has(refusal([&] { read_ledger(path); }), "line 1: no whole header"));
    put(path, "");
    CHECK(has(refusal([&] { read_ledger(path); }), "line 1: no whole header"));
}

TEST_CASE("one writer") {
    const scratch_directory dir;
    const auto path = dir / "ledger.jsonl";
    auto subject = ledger::create(path, header(false));
    CHECK(has(refusal([&] { ledger::open(path); }), "another process"));
    CHECK_FALSE(refusal([&] { ledger::create(path, header(false)); }).empty());
    CHECK(subject.content().charges.empty());
}

TEST_CASE("a charge is validated before anything is written") {
    const scratch_directory dir;
    const auto path = dir / "ledger.jsonl";
    const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    const double q = 16.0 / 73271;
    auto subject = ledger::create(path, header(false));
    subject.append(1, 0.5, q, {});
    const auto before = load_text(path);
    for (double z : {0.0, -1.0, inf, nan}) CHECK_THROWS_AS(subject.append(2, z, q, {}), rldp::error);
    for (double rate : {0.0, -1.0, 2.0, nan}) CHECK_THROWS_AS(subject.append(2, 1, rate, {}), rldp::error);
    for (int step : {-1, 0, 1, 31}) CHECK_THROWS_AS(subject.append(step, 1, q, {}), rldp::error);
    CHECK_THROWS_AS(subject.append(2, 1, q, 0), rldp::error);
    CHECK(load_text(path) == before);
    CHECK(subject.content().charges.size() == 1);
    subject.append(2, 0.5, q, {});
    CHECK(read_ledger(path).charges.size() == 2);
    CHECK_FALSE(refusal([&] { ledger::open(dir / "none"); }).empty());
    CHECK_FALSE(std::filesystem::exists(dir / "none"));
}

TEST_CASE("no card is dealt more often than planned, under another noise level, or where there is none") {
    const scratch_directory dir;
    auto subject = ledger::create(dir / "ledger.jsonl", header(true));
    const double q = 16.0 / 73271, z = 0.1 + 0.2;
    CHECK_THROWS_AS(subject.append(1, z, q, {}), rldp::error);
    CHECK_THROWS_AS(subject.append(1, z, q, 1), rldp::error);
    CHECK_THROWS_AS(subject.append(1, z, q, 2), rldp::error);
    for (int step = 1; step <= 10; ++step) subject.append(step, z, q, 0);
    CHECK(has(refusal([&] { subject.append(11, z, q, 0); }), "used up after 10"));
    subject.append(11, 1.0 / 3, q, 1);
}

TEST_CASE("a header is validated") {
    const scratch_directory dir;
    const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    const std::vector<std::function<void(ledger_header&)>> mistakes = {
        [](auto& h) { h.delta = 0; },
        [](auto& h) { h.delta = 1; },
        [&](auto& h) { h.delta = nan; },
        [](auto& h) { h.sample_rate = 0; },
        [](auto& h) { h.sample_rate = 1.1; },
        [](auto& h) { h.population = 0; },
        [](auto& h) { h.steps = 0; },
        [](auto& h) { h.epsilon_budget = -1; },
        [&](auto& h) { h.epsilon_budget = nan; },
        [&](auto& h) { h.epsilon_guaranteed = nan; },
        [](auto& h) { h.deck[0].steps = 0; },
        [&](auto& h) { h.deck[0].noise_multiplier = inf; },
        [](auto& h) { h.unit.push_back(static_cast<char>(0xff)); },
    };
    for (const auto& mistake : mistakes) {
        auto h = header(true);
        mistake(h);
        CHECK_THROWS_AS(ledger::create(dir / "ledger.jsonl", h), rldp::error);
        CHECK_FALSE(std::filesystem::exists(dir / "ledger.jsonl"));
    }
    auto unbounded = header(false);
    unbounded.epsilon_guaranteed = inf;
    ledger::create(dir / "ledger.jsonl", unbounded);
    CHECK(has(load_text(dir / "ledger.jsonl"), "\"guaranteed_epsilon\":\"inf\""));
    CHECK(read_ledger(dir / "ledger.jsonl").header.epsilon_guaranteed == inf);
}
