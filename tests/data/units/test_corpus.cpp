#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "data/units/split_assignment.hpp"
#include "tests/catch.hpp"
#include "tests/support/corpus.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

/// What a unit's owner could see of its placement.
using fate = std::tuple<char, std::vector<std::string>, std::optional<std::string>>;

std::map<std::uint64_t, fate> fates(const corpus& from) {
    std::map<std::uint64_t, fate> out;
    for (const auto& u : from.train) out[u.id] = {'t', u.records, u.canary};
    for (const auto& u : from.eval) out[u.id] = {'e', u.records, u.canary};
    for (const auto& u : from.attack) out[u.id] = {'a', u.records, u.canary};
    return out;
}

enum class identity { key, content, group };

/// A random table of rows "id,who,note"; notes repeat.
std::vector<std::string> random_rows(std::mt19937_64& engine) {
    std::vector<std::string> rows;
    for (std::size_t i = 0, n = 30 + engine() % 50; i < n; ++i)
        rows.push_back(std::to_string(i) + ",p" + std::to_string(engine() % 20) + ",note " +
                       std::to_string(engine() % 15));
    return rows;
}

corpus load(const scratch_directory& at, const std::vector<std::string>& rows, identity by, const split_rule& rule) {
    std::string csv = "id,who,note\n";
    for (const auto& r : rows) csv += r + "\n";
    const auto how =
        by == identity::content ? R"({"leave_out": ["id", "who"]})" : R"({"record": "id", "person": "who"})";
    source from{at.write("t.csv", csv), {}, at.write("n.json", how), {}};
    if (by == identity::group) from.group = "who";
    return load_corpus(from, rule);
}

split_rule hashed(std::int64_t seed, std::int64_t canaries) {
    split_rule out;
    out.seed = seed;
    out.canaries = canaries;
    out.population = 60;
    return out;
}

}  // namespace

TEST_CASE("adding one unit moves no other, whatever names the units") {
    const scratch_directory at;
    std::mt19937_64 engine(11);
    for (const auto by : {identity::key, identity::content, identity::group})
        for (int round = 0; round < 25; ++round) {
            auto rows = random_rows(engine);
            const auto rule = hashed(static_cast<std::int64_t>(engine() % 1000), 4);
            const auto before = fates(load(at, rows, by, rule));
            const auto where = static_cast<std::ptrdiff_t>(engine() % rows.size());
            // The new unit repeats a note that is there already, so content identities are put to the test.
            rows.insert(rows.begin() + where, "999,new,note " + std::to_string(engine() % 15));
            auto after = fates(load(at, rows, by, rule));
            CHECK(after.size() == before.size() + 1);
            for (const auto& [id, what] : before) {
                REQUIRE(after.contains(id));
                CHECK(after[id] == what);
            }
        }
}

TEST_CASE("the order of the rows decides nothing") {
    const scratch_directory at;
    std::mt19937_64 engine(12);
    for (const auto by : {identity::key, identity::content, identity::group})
        for (const auto how : {rldp::split_kind::hash, rldp::split_kind::exact}) {
            auto rows = random_rows(engine);
            auto rule = hashed(5, 2);
            rule.how = how;
            const auto one = load(at, rows, by, rule);
            std::shuffle(rows.begin(), rows.end(), engine);
            const auto other = load(at, rows, by, rule);
            CHECK(one.digest == other.digest);
            CHECK(fates(one) == fates(other));
            CHECK(std::equal(one.train.begin(), one.train.end(), other.train.begin(), other.train.end(),
                             [](const unit& a, const unit& b) { return a.id == b.id; }));
        }
}

TEST_CASE("a group's records stay together") {
    const scratch_directory at;
    std::mt19937_64 engine(13);
    for (int round = 0; round < 20; ++round) {
        const auto rows = random_rows(engine);
        std::string csv = "who,row\n";
        std::map<std::string, int> people;
        for (const auto& r : rows) {
            const auto who = r.substr(r.find(',') + 1, r.rfind(',') - r.find(',') - 1);
            csv += who + "," + r.substr(0, r.find(',')) + "\n";
            ++people[who];
        }
        auto rule = hashed(round, 0);
        const auto found = load_corpus({at.write("t.csv", csv), {}, at.write("n.json", "{}"), "who"}, rule);
        for (const auto& [id, what] : fates(found)) {
            const auto& records = std::get<1>(what);
            std::set<std::string> owners;
            for (const auto& text : records) owners.insert(text.substr(0, text.find('.')));
            REQUIRE(owners.size() == 1);
            const auto owner = owners.begin()->substr(std::string("who is ").size());
            CHECK(static_cast<int>(records.size()) == people[owner]);
            people.erase(owner);
        }
        CHECK(people.empty());
    }
}

TEST_CASE("a group unit keeps so many of its records at most, the same ones whoever else is there") {
    const scratch_directory at;
    for (const int heavy : {40, 4000}) {
        std::vector<std::string> rows, others;
        for (int i = 0; i < heavy; ++i) rows.push_back(std::to_string(i) + ",heavy,note " + std::to_string(i));
        for (int i = 0; i < 30; ++i)
            others.push_back(std::to_string(10000 + i) + ",p" + std::to_string(i / 3) + ",note " + std::to_string(i));
        auto all = rows;
        all.insert(all.end(), others.begin(), others.end());
        auto rule = hashed(5, 0);
        rule.max_records = 7;
        rule.attack = rule.eval = 0;
        const auto alone = fates(load(at, rows, identity::group, rule));
        const auto beside = fates(load(at, all, identity::group, rule));
        std::size_t large = 0;
        for (const auto& [id, placed] : beside) {
            CHECK(std::get<1>(placed).size() <= 7);
            if (alone.contains(id)) CHECK(alone.at(id) == placed);
            large += std::get<1>(placed).size() == 7 ? 1 : 0;
        }
        CHECK(large == 1);
        CHECK(alone.size() == 1);
    }
}

TEST_CASE("canaries end the first record of training units") {
    const scratch_directory at;
    std::mt19937_64 engine(14);
    auto rule = hashed(9, 5);
    rule.how = rldp::split_kind::exact;
    const auto rows = random_rows(engine);
    for (const auto by : {identity::key, identity::group}) {
        const auto with = load(at, rows, by, rule);
        auto none = rule;
        none.canaries = 0;
        auto plain = fates(load(at, rows, by, none));
        int planted = 0;
        for (const auto& u : with.train) {
            auto expected = std::get<1>(plain[u.id]);
            if (u.canary) expected.front() += " secret_id=" + *u.canary + ".", ++planted;
            CHECK(u.records == expected);
        }
        CHECK(planted == 5);
        CHECK(with.digest != load(at, rows, by, none).digest);
    }
}

TEST_CASE("the digest is SHA-256 over BLAKE2b of the texts, as Python's hashlib computes it") {
    const scratch_directory at;
    const auto found = load_corpus({at.write("t.txt", "alpha\nbeta\ngamma\nalpha\ndelta\n"), {}, {}, {}}, split_rule{});
    REQUIRE(found.train.size() == 5);
    CHECK(found.train[0].records == std::vector<std::string>{"beta"});
    CHECK(found.train[0].id == 2073501477922360369u);
    CHECK(found.digest == "c83f05c9e2aee827eba4b31b9eec0593c01e85121aff4b06512afa0339f735bf");
    CHECK(found.eval.empty());
}

TEST_CASE("the digest tells any change of the training units") {
    const scratch_directory at;
    const auto digest = [&](const std::string& text) {
        split_rule all;
        all.attack = all.eval = 0;
        return load_corpus({at.write("t.txt", text), {}, {}, {}}, all).digest;
    };
    std::set<std::string> seen;
    for (const std::string text : {"a\nb", "a\nc", "ab", "a\nb\nb", "a\nb\nc", "a b"})
        CHECK(seen.insert(digest(text)).second);
    CHECK(digest("a\nb") == digest("b\na\n"));
}

TEST_CASE("a person key draws a warning with record units, whatever the rows: warnings are public") {
    const scratch_directory at;
    auto rule = hashed(1, 0);
    rule.eval = rule.attack = 0;
    const auto warned = [&](const std::vector<std::string>& rows, identity by) {
        int hits = 0;
        for (const auto& line : load(at, rows, by, rule).warnings) hits += has(line, "\"who\" may repeat in ");
        return hits;
    };
    CHECK(warned({"1,a,x", "2,b,x", "3,a,x", "4,a,x"}, identity::key) == 1);
    CHECK(warned({"1,a,x", "2,b,x", "3,a,x"}, identity::group) == 0);
    CHECK(warned({"1,a,x", "2,b,x", "3,c,x", "4,d,x"}, identity::key) == 1);
}

TEST_CASE("a source that can't be loaded is refused in one line") {
    const scratch_directory at;
    const auto how = at.write("n.json", R"({"record": "id"})");
    const auto refused = [&](const source& from) { return refusal([&] { load_corpus(from, split_rule{}); }); };
    const auto csv = [&](const std::string& text) { return at.write("t.csv", text); };
    CHECK(has(refused({csv("id,a\n1,2\n"), {}, {}, {}}), "t.csv: a table needs data.template"));
    CHECK(has(refused({csv("id,a\n1,2\n2,3\n1,4\n"), {}, how, {}}),
              "t.csv:4: the row's record key stands on line 2 already"));
    CHECK(has(refused({csv("id,a\n1,2\n?,3\n"), {}, how, {}}), "t.csv:3: the key \"id\" is missing"));
    CHECK(has(refused({csv("id,a\n1,2\n2,\n"), {}, how, "a"}), "t.csv:3: the key \"a\" is missing"));
    CHECK(has(refused({csv("id,a\n1,2\n"), {}, how, "who"}), "t.csv:1: column \"who\" is missing"));
    CHECK(has(refused({csv("id,a\n"), {}, how, {}}), "t.csv: no records"));
    CHECK(has(refused({csv("id,a\n1,2\n"), {}, "/nowhere/n.json", {}}), "/nowhere/n.json: no such file"));
    CHECK(has(refused({csv("id,a\n1,2\n"), "/nowhere/ids.csv", how, {}}), "/nowhere/ids.csv: no such file"));
    CHECK(has(refused({at.write("t.jsonl", "\"a\"\n"), {}, how, {}}), "t.jsonl:1: not a JSON object"));
    CHECK(has(refused({at.write("t.txt", "a\n"), {}, {}, "who"}), "t.txt: plain text has no key columns"));
    CHECK(has(refused({at.write("t.txt", " \n"), {}, {}, {}}), "t.txt: no records"));
    CHECK(has(refused({at.write("t.parquet", "a\n"), {}, {}, {}}), "t.parquet: Parquet"));
    CHECK(has(refused({"/nowhere/t.csv", {}, how, {}}), "/nowhere/t.csv: no such file"));
}

TEST_CASE("an empty train side is refused with what to do") {
    const scratch_directory at;
    split_rule rule;
    rule.how = rldp::split_kind::exact;
    const auto line = refusal([&] { load_corpus({at.write("t.txt", "alone\n"), {}, {}, {}}, rule); });
    CHECK(has(line, "of 1 unit(s) none is left to train on; add units"));
}

TEST_CASE("code books are found beside the table or missed aloud") {
    const scratch_directory at;
    const source from{at.write("t.csv", "a\n1\n"), {}, at.write("n.json", R"({"columns": {"a": {"codes": "a"}}})"), {}};
    split_rule all;
    all.attack = all.eval = 0;
    const auto without = load_corpus(from, all);
    CHECK(without.train[0].records[0] == "a is 1.");
    CHECK(std::any_of(without.warnings.begin(), without.warnings.end(),
                      [](const auto& w) { return has(w, "no IDs_mapping.csv"); }));
    at.write("IDs_mapping.csv", "a,description\n1,one\n");
    CHECK(load_corpus(from, all).train[0].records[0] == "a is one.");
}

TEST_CASE("units lead back to their lines and keys") {
    const scratch_directory at;
    std::string rows = "id,who,note\n";
    for (int i = 0; i < 60; ++i) rows += fmt::format("r{},p{},n{}\n", i, i / 3, i);
    split_rule rule;
    const source by_record{at.write("t.csv", rows), {}, at.write("n.json", R"({"record": "id", "person": "who"})"), {}};
    const auto all = load_corpus(by_record, rule);
    REQUIRE(all.train.size() > 20);
    for (const auto& unit : all.train) {
        CHECK(unit.place.key == fmt::format("r{}", unit.place.line - 2));
        CHECK(has(unit.records.front(), fmt::format("n{}", unit.place.line - 2)));
    }
    auto by_person = by_record;
    by_person.group = "who";
    const auto persons = load_corpus(by_person, rule);
    for (const auto& unit : persons.train) {
        CHECK(unit.place.group == fmt::format("p{}", (unit.place.line - 2) / 3));
        CHECK(has(unit.records.front(), fmt::format("n{}", unit.place.line - 2)));
    }
}
