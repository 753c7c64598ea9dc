// Which tables are one population, and so have one budget book.
#include "privacy/spending/book_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "data/units/split_and_sampling.hpp"
#include "data/units/split_assignment.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/spending/book.hpp"
#include "privacy/spending/book_files.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace fs = std::filesystem;
using namespace rldp;

namespace {

using rows = std::vector<std::string>;

/// Row `i` of a table of patients with three visits each; `of` keeps populations apart.
std::string visit(int i, const std::string& of = "P", const std::string& outcome = "well") {
    return fmt::format("{}{},{},{}", of, i / 3, std::int64_t{i} * 7919 % 100'003, outcome);
}

rows visits(int from, int to, const std::string& of = "P") {
    rows out;
    for (int i = from; i < to; ++i) out.push_back(visit(i, of));
    return out;
}

rows operator+(rows a, const rows& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// `tenths` of ten rows are corrected.
rows corrected(int count, int tenths, const std::string& of = "P") {
    rows out;
    for (int i = 0; i < count; ++i) out.push_back(visit(i, of, i % 10 < tenths ? "ill" : "well"));
    return out;
}

rows reversed(rows of) {
    std::reverse(of.begin(), of.end());
    return of;
}

std::string make_table(const rows& all, const std::string& header = "patient,code,outcome") {
    auto out = header + "\n";
    for (const auto& row : all) out += row + "\n";
    return out;
}

struct tables {
    scratch_directory scratch;
    privacy::run_key key = privacy::run_key::from_system();

    tables() {
        scratch.write("told.json", R"({"opening": "A visit.", "missing": [""], "unknown": "{label} is unknown.",
            "clause": "{label}: {value}."})");
        scratch.write("other.json", R"({"opening": "Seen:", "missing": [""], "unknown": "no {label};",
            "clause": "{label} = {value};", "leave_out": ["code"]})");
    }
    data::split_assignment of(const std::string& path, const std::optional<std::string>& group = {},
                              std::int64_t seed = 42, const std::string& how = "told.json") const {
        data::split_rule split;
        split.seed = seed;
        return enrolled({.path = path, .ids_mapping = {}, .narrative = scratch / how, .group = group}, split);
    }
    data::split_assignment enrolled(const data::source& from, const data::split_rule& split) const {
        const auto records = data::open_records(from);
        return data::assign_splits(*records, from, split, 2);
    }
    data::split_assignment of(const rows& all, const std::optional<std::string>& group = {}) const {
        return of(scratch.write("table.csv", make_table(all)), group);
    }
    double likeness(const data::split_assignment& a, const data::split_assignment& b) const {
        return privacy::likeness(under(key, a.sketches), under(key, b.sketches));
    }
};

constexpr int many = 12'000;

}  // namespace

TEST_CASE("tables of one population are alike, and others are not") {
    const tables t;
    const auto mine = visits(0, many);
    const auto known = t.of(mine);
    const auto alike = [&](const std::string& what, const rows& other, double share, double within = 0.04) {
        const double found = t.likeness(known, t.of(other));
        INFO(fmt::format("{}: {:.3f}, in truth {:.3f}", what, found, share));
        CHECK(found == Approx(share).margin(within));
        CHECK((found >= privacy::alike_from) == (share >= 0.25));
    };
    alike("the same", mine, 1, 0);
    alike("rows in another order", reversed(mine), 1, 0);
    alike("one row appended", mine + visits(many, many + 1), 1, 0);
    alike("10 % appended", mine + visits(many, many * 11 / 10), 1, 0);
    alike("100 % appended", mine + visits(many, 2 * many), 1, 0);
    alike("300 % appended", mine + visits(many, 4 * many), 1, 0);
    alike("1900 % appended", mine + visits(many, 20 * many), 1, 0);
    alike("a twentieth of it", visits(0, many / 20), 1, 0);
    alike("10 % corrected", corrected(many, 1), 0.9);
    alike("50 % corrected", corrected(many, 5), 0.5);
    alike("70 % corrected", corrected(many, 7), 0.3);
    alike("10 % corrected, 100 % appended", corrected(many, 1) + visits(many, 2 * many), 0.9);
    alike("80 % corrected", corrected(many, 8), 0.2);
    alike("a third in common", visits(many * 2 / 3, many * 5 / 3), 1.0 / 3);
    alike("a fifth in common", visits(many * 4 / 5, many * 9 / 5), 0.2);
    alike("the other half", visits(many, 2 * many), 0, 0);
    alike("another population", visits(0, many, "Q"), 0, 0);
    alike("another population, 20 times as large", visits(0, 20 * many, "Q"), 0, 0);
    alike("a row in common with a small one", visits(many - 1, many + 20), 1.0 / 21, 0.2);
}

TEST_CASE("a small table is known again in one a thousand times as large") {
    const tables t;
    const auto all = visits(0, 400'000);
    const auto large = t.of(all);
    int found = 0;
    for (int i = 0; i < 20; ++i) {
        const auto begin = i * 19'000;
        found += t.likeness(t.of(visits(begin, begin + 1000)), large) >= privacy::alike_from ? 1 : 0;
        CHECK(t.likeness(t.of(visits(begin, begin + 1000, "Q")), large) == 0);
    }
    INFO(found << " of 20");
    CHECK(found == 20);
}

TEST_CASE("how a table is written, told and split changes neither rows nor likeness") {
    const tables t;
    const auto mine = visits(0, 3000);
    const auto path = t.scratch.write("mine.csv", make_table(mine));
    const auto known = t.of(path);
    const auto same = [&](const char* what, const data::split_assignment& other, bool split = true) {
        INFO(what);
        CHECK(t.likeness(known, other) == 1);
        CHECK((known.split == other.split) == split);
    };
    fs::create_directory(t.scratch / "elsewhere");
    fs::create_symlink(path, t.scratch / "link.csv");
    same("a link", t.of((t.scratch / "link.csv").string()));
    same("a copy", t.of(t.scratch.write("elsewhere/copy.csv", make_table(mine))));
    same("another template", t.of(path, {}, 42, "other.json"));
    same("rows in another order", t.of(reversed(mine)));
    rows quoted, turned, lines;
    for (const auto& row : mine) {
        const auto a = row.find(','), b = row.rfind(',');
        const auto patient = row.substr(0, a), code = row.substr(a + 1, b - a - 1), outcome = row.substr(b + 1);
        quoted.push_back(fmt::format("\"{}\";\"{}\";{};", patient, code, outcome));
        turned.push_back(fmt::format("{},{},{}", outcome, patient, code));
        lines.push_back(fmt::format(R"({{"code": "{}", "patient": "{}", "outcome": "{}"}})", code, patient, outcome));
    }
    same("quoted, with semicolons and an empty column",
         t.of(t.scratch.write("quoted.csv", make_table(quoted, "patient;code;outcome;remark"))));
    same("columns in another order", t.of(t.scratch.write("turned.csv", make_table(turned, "outcome,patient,code"))));
    same("JSON lines", t.of(t.scratch.write("mine.jsonl", fmt::format("{}\n", fmt::join(lines, "\n")))));
    same("another seed", t.of(path, {}, 43), false);
    same("by patient", t.of(path, "patient"), false);
    CHECK(t.of(path, "patient").split != t.of(path, "outcome").split);
    CHECK(t.of(corrected(3000, 1)).split != known.split);
}

TEST_CASE("the same units on other sides are another split") {
    const tables t;
    data::split_rule all, half;
    all.attack = half.attack = all.eval = 0;
    half.eval = 0.5;
    int compared = 0;
    for (int i = 0; i < 60 && compared == 0; ++i) {
        const data::source from{.path = t.scratch.write("two.csv", make_table(visits(2 * i, 2 * i + 2))),
                                .ids_mapping = {},
                                .narrative = t.scratch / "told.json",
                                .group = {}};
        const auto one = t.enrolled(from, all);
        try {
            const auto other = t.enrolled(from, half);
            if (other.train != 1 || other.ids != one.ids) continue;
            CHECK(one.split != other.split);
            ++compared;
        } catch (const error&) {  // none is left to train on
        }
    }
    CHECK(compared == 1);
}

TEST_CASE("persons are known again where every row is another") {
    const tables t;
    const auto now = t.of(corrected(3000, 10), "patient"), then = t.of(visits(0, 3000), "patient");
    CHECK(t.likeness(now, then) == 1);
    CHECK(t.likeness(t.of(corrected(3000, 10)), then) == 0);  // by record nothing says so
    CHECK(t.likeness(t.of(visits(0, 3000, "Q"), "patient"), then) == 0);
}

TEST_CASE("a sketch of two tables is that of both together, whatever it is joined from") {
    const tables t;
    const auto a = under(t.key, t.of(visits(0, many)).sketches),
               b = under(t.key, t.of(visits(many, 3 * many)).sketches);
    const auto all = under(t.key, t.of(visits(0, 3 * many)).sketches);
    CHECK(joined(a, b) == all);
    CHECK(joined(b, a) == all);
    CHECK(joined(a, a) == a);
    CHECK(all.at("rows").units.size() <= unit_sketch::most);
    CHECK(all.at("rows").units.size() > unit_sketch::most / 3);
    // Under another key nothing is known again.
    CHECK(likeness(under(privacy::run_key::from_system(), t.of(visits(0, many)).sketches), a) == 0);
}

namespace {

/// A home of its own.
struct home {
    tables t;
    fs::path place = t.scratch / "books";
    std::string before = std::getenv("RLDP_BOOKS");

    home() { ::setenv("RLDP_BOOKS", place.c_str(), 1); }
    ~home() { ::setenv("RLDP_BOOKS", before.c_str(), 1); }
    privacy::book_answer find(const rows& of, const std::string& asked = "found", const fs::path& started = {}) const {
        return privacy::find_book(
            {.asked = asked, .name = "visits", .sketches = t.of(of).sketches, .started = started});
    }
};

}  // namespace

TEST_CASE("data find their book again, and others get one of their own") {
    const home h;
    const auto first = h.find(visits(0, 900));
    CHECK(first.fresh);
    CHECK(first.directory == h.place / "visits");
    CHECK((fs::status(h.place).permissions() & fs::perms::all) == fs::perms::owner_all);
    const auto again = h.find(reversed(visits(0, 990)));
    CHECK_FALSE(again.fresh);
    CHECK(again.directory == first.directory);
    CHECK(again.likeness == 1);
    const auto other = h.find(visits(0, 900, "Q"));
    CHECK(other.directory == h.place / "visits-2");
    CHECK(h.find(corrected(900, 1, "Q")).directory == other.directory);
    CHECK(privacy::books_at_home().size() == 2);
    // A run that goes on keeps its book.
    CHECK(h.find(visits(0, 900), "found", other.directory).directory == other.directory);
    CHECK(h.find(visits(0, 900), "found", h.place / "lost").directory == first.directory);
}

TEST_CASE("a book by name is that one, and none is begun by a slip of the pen") {
    const home h;
    CHECK(h.find(visits(0, 900), "ward").directory == h.place / "ward");
    CHECK(h.find(visits(0, 900)).directory == h.place / "ward");
    const auto unlike = h.find(visits(0, 900, "Q"), "ward");
    CHECK(unlike.directory == h.place / "ward");
    CHECK(unlike.likeness == 0);
    const auto line = refusal([&] { h.find(visits(0, 900), "wrad"); });
    CHECK(has(line, "privacy.book wrad: would be a new book, but " + (h.place / "ward").string()));
    CHECK(has(refusal([&] { h.find(visits(0, 900), (h.t.scratch / "beside").string()); }), "would be a new book"));
    CHECK_FALSE(fs::exists(h.place / "wrad"));
    privacy::make_book(h.place / "wrad");
    CHECK(h.find(visits(0, 900), "wrad").directory == h.place / "wrad");
    CHECK(privacy::book_called("ward") == h.place / "ward");
    CHECK(privacy::book_called("./ward") == "./ward");
    CHECK(has(refusal([&] { privacy::book_called("no name"); }), "is no name of a budget book"));
}

TEST_CASE("a book in which nothing but a total was set is that of the data of its name") {
    const home h;
    privacy::set_total(h.place / "visits", {.epsilon_budget = 1, .delta = 1e-5, .unit = "record"});
    CHECK_FALSE(privacy::is_of_earlier_version(h.place / "visits"));
    CHECK(h.find(visits(0, 900)).directory == h.place / "visits");
    CHECK(h.find(visits(0, 900, "Q")).directory == h.place / "visits-2");
    CHECK(h.find(visits(0, 990)).directory == h.place / "visits");
}

TEST_CASE("the book that data will find is known beforehand, and nothing is made to know it") {
    const home h;
    const auto known = [&](const rows& all, const std::string& asked = "found") {
        return privacy::find_known_book(
            {.asked = asked, .name = "visits", .sketches = h.t.of(all).sketches, .started = {}});
    };
    CHECK_FALSE(known(visits(0, 900)));
    CHECK_FALSE(known(visits(0, 900), "ward"));
    CHECK_FALSE(fs::exists(h.place));
    privacy::set_total(h.place / "visits", {.epsilon_budget = 1, .delta = 1e-5, .unit = "record"});
    CHECK(known(visits(0, 900))->directory == h.place / "visits");
    const auto first = h.find(visits(0, 900));
    CHECK(known(visits(0, 990))->directory == first.directory);
    CHECK(known(visits(0, 990), "visits")->directory == first.directory);
    CHECK_FALSE(known(visits(0, 900, "Q")));
    CHECK(has(refusal([&] { known(visits(0, 900), "wrad"); }), "would be a new book"));
    CHECK(privacy::books_at_home().size() == 1);
}

TEST_CASE("runs that begin at once on the same data find one book") {
    const home h;
    std::vector<std::thread> all;
    all.reserve(8);
    const auto of = h.t.of(visits(0, 900)).sketches;
    for (int i = 0; i < 8; ++i)
        all.emplace_back(
            [&] { privacy::find_book({.asked = "found", .name = "visits", .sketches = of, .started = {}}); });
    for (auto& one : all) one.join();
    CHECK(privacy::books_at_home().size() == 1);
}

TEST_CASE("a home that can't be written, or a damaged sketch, is refused by name") {
    const home h;
    h.t.scratch.write("books", "a file");
    CHECK(has(refusal([&] { h.find(visits(0, 90)); }), "privacy.book " + h.place.string()));
    fs::remove(h.place);
    const auto book = h.find(visits(0, 90)).directory;
    write_file(book / "book.sketch", R"({"rows":{"level":0,"units":[[1,70]]}})");
    CHECK(has(refusal([&] { h.find(visits(0, 90)); }), "book.sketch: \"rows\""));
    ::setenv("RLDP_BOOKS", "", 1);
    const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
    const std::string shared = std::getenv("XDG_DATA_HOME") ? std::getenv("XDG_DATA_HOME") : "";
    ::unsetenv("XDG_DATA_HOME");
    ::setenv("HOME", "/nobody", 1);
    CHECK(privacy::books_home() == "/nobody/.local/share/rldp/books");
    ::setenv("XDG_DATA_HOME", "/data", 1);
    CHECK(privacy::books_home() == "/data/rldp/books");
    ::unsetenv("XDG_DATA_HOME");
    ::unsetenv("HOME");
    CHECK(has(refusal([] { privacy::books_home(); }), "set RLDP_BOOKS"));
    if (!home.empty()) ::setenv("HOME", home.c_str(), 1);
    if (!shared.empty()) ::setenv("XDG_DATA_HOME", shared.c_str(), 1);
}
