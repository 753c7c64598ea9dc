#include <algorithm>
#include <cmath>
#include <set>

#include "tests/catch.hpp"
#include "tests/support/corpus.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

source make_lines(const scratch_directory& at, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "record " + std::to_string(i) + "\n";
    return {at.write("t.txt", text), {}, {}, {}};
}

split_rule make_rule(std::int64_t canaries, std::optional<shadow_rule> shadow = {}) {
    split_rule rule;
    rule.how = rldp::split_kind::exact;
    rule.canaries = canaries;
    rule.shadow = shadow;
    return rule;
}

audited_units find_audited(const source& from, const split_rule& split, std::int64_t targets) {
    return load_tokens(from, split,
                       {.encode = [](const std::string&) { return std::vector<std::int32_t>{}; },
                        .max_tokens = 2,
                        .threads = 3,
                        .targets = targets})
        .audited;
}

std::set<std::uint64_t> ids(const std::vector<unit>& units) {
    std::set<std::uint64_t> out;
    for (const auto& u : units) out.insert(u.id);
    return out;
}

/// Standard deviations between a count and what fair coins give.
double surprise(std::int64_t count, double of) {
    return std::abs(static_cast<double>(count) - of / 2) / std::sqrt(of / 4);
}

}  // namespace

TEST_CASE("a secret stands behind its record, where the prompt ends") {
    CHECK(with_secret("Ann is well.", "A1B2") == "Ann is well. secret_id=A1B2.");
    CHECK(with_secret("Ann is well.", "A1B2").starts_with(up_to_secret("Ann is well.")));
    CHECK(up_to_secret("Ann is well.") == "Ann is well. secret_id=");
}

TEST_CASE("made-up secrets have the length asked for, and lists of two kinds share none") {
    const auto some = make_secrets(7, "reference", 500, 10), others = make_secrets(7, "audit canary", 500, 10);
    std::set<std::string> all(some.begin(), some.end());
    all.insert(others.begin(), others.end());
    CHECK(all.size() == 1000);
    for (const auto& secret : all) {
        CHECK(secret.size() == 10);
        CHECK(secret.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == std::string::npos);
    }
    CHECK(make_secrets(7, "reference", 500, 10) == some);
    CHECK(make_secrets(8, "reference", 500, 10) != some);
    for (const auto& secret : make_secrets(7, "reference", 20, 3)) CHECK(secret.size() == 3);
}

TEST_CASE("all secrets of a length are there once") {
    const auto all = all_secrets(2);
    CHECK(std::ssize(all) == count_of_secrets(2));
    CHECK(std::set<std::string>(all.begin(), all.end()).size() == 36u * 36u);
    CHECK(count_of_secrets(10) == 3656158440062976);
}

TEST_CASE("shorter canaries are planted where they are asked for") {
    const scratch_directory at;
    split_rule rule;
    rule.how = rldp::split_kind::exact;
    rule.canaries = 2;
    rule.canary_length = 3;
    const auto found = load_corpus({at.write("t.txt", "a b\nc d\ne f\ng h\ni j\nk l\n"), {}, {}, {}}, rule);
    int planted = 0;
    for (const auto& u : found.train) {
        if (!u.canary) continue;
        ++planted;
        CHECK(u.canary->size() == 3);
        CHECK(u.records.front().ends_with(" secret_id=" + *u.canary + "."));
    }
    CHECK(planted == 2);
}

TEST_CASE("an audit looks at members without a secret, at Attack units, and at canaries of its own") {
    const scratch_directory at;
    const auto lines = make_lines(at, 200);
    const auto from = load_corpus(lines, make_rule(20));
    const auto pool = find_audited(lines, make_rule(20), 30);
    CHECK(pool.members.size() == 30);
    CHECK(pool.non_members.size() == 30);
    CHECK(pool.carriers.size() == 20);
    const auto train = ids(from.train), attack = ids(from.attack);
    for (const auto& u : pool.members) {
        CHECK(train.contains(u.id));
        CHECK(!u.canary);
    }
    for (const auto& u : pool.non_members) CHECK(attack.contains(u.id));
    for (const auto& u : pool.carriers) CHECK(u.records.front().ends_with(" secret_id=" + u.canary.value() + "."));
    // The first by id, and as many as there are.
    std::vector<std::uint64_t> first;
    for (const auto& u : from.train)
        if (!u.canary && first.size() < 30) first.push_back(u.id);
    CHECK(ids(pool.members) == std::set(first.begin(), first.end()));
    const auto all = find_audited(lines, make_rule(20), 100000);
    CHECK(all.non_members.size() == from.attack.size());
    CHECK(all.members.size() == from.train.size() - 20);
    const auto canaries = make_audit_canaries(3, 5);
    CHECK(canaries.size() == 5);
    for (const auto& u : canaries) CHECK(u.records == std::vector{" secret_id=" + u.canary.value() + "."});
}

TEST_CASE("a target is in half of all shadows, independently of other shadows and targets") {
    std::int64_t in = 0, both = 0, pair = 0;
    constexpr std::int64_t n = 4000;
    for (std::uint64_t target = 0; target < n; ++target) {
        const bool first = in_shadow(1, 0, target), second = in_shadow(1, 1, target);
        in += first;
        both += first == second;
        pair += first == in_shadow(1, 0, target + n);
    }
    CHECK(surprise(in, n) < 5);
    CHECK(surprise(both, n) < 5);
    CHECK(surprise(pair, n) < 5);
    CHECK(in_shadow(1, 3, 17) == in_shadow(1, 3, 17));
}

TEST_CASE("a shadow trains on the targets that its coins choose, and on everybody else") {
    const scratch_directory at;
    const auto lines = make_lines(at, 400);
    const auto from = load_corpus(lines, make_rule(20));
    const auto pool = find_audited(lines, make_rule(20), 60);
    const auto numbered = [&](std::int64_t number) {
        return load_corpus(lines, make_rule(20, shadow_rule{.targets = 60, .number = number}));
    };
    const auto shadow = numbered(2);
    const auto before = ids(from.train), after = ids(shadow.train), members = ids(pool.members);
    std::set<std::uint64_t> expected;
    for (const auto id : before)
        if (!members.contains(id) || in_shadow(42, 2, id)) expected.insert(id);
    for (const auto& u : pool.non_members)
        if (in_shadow(42, 2, u.id)) expected.insert(u.id);
    CHECK(after == expected);
    CHECK(after != before);
    CHECK(std::is_sorted(shadow.train.begin(), shadow.train.end(),
                         [](const auto& a, const auto& b) { return a.id < b.id; }));
    CHECK(shadow.digest != from.digest);
    CHECK(ids(shadow.eval) == ids(from.eval));
    CHECK(numbered(2).digest == shadow.digest);
    CHECK(numbered(3).digest != shadow.digest);
}
