#include "privacy/spending/book.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "privacy/spending/book_mark.hpp"
#include "privacy/spending/book_sketch.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;

namespace {

/// A run of 100 steps at z = 1.1 and q = 0.01, which promises 0.9 (more than it composes to).
ledger_content run(const std::string& id, double epsilon = 0.9) {
    ledger_content out;
    out.header.delta = 1e-5;
    out.header.sample_rate = 0.01;
    out.header.population = 1000;
    out.header.steps = 100;
    out.header.policy = "fixed";
    out.header.accountant = "pld";
    out.header.unit = "record";
    out.header.epsilon = out.header.guaranteed_epsilon = epsilon;
    out.header_hash = id;
    return out;
}

const std::vector<phase> steps = {{1.1, 0.01, 100}};

/// How a run is entered, beside its ledger.
struct manner {
    std::vector<phase> promised = steps;
    std::string data = "the table", split = "one split";
    rldp::publication held_out = rldp::publication::noised;
    rldp::unit_sketches sketches = {};
    std::string directory = {};  ///< beside the book, of the run's id where nothing else is said
};

std::filesystem::path mark_in(const std::filesystem::path& book, const std::string& directory) {
    return book.parent_path() / "runs" / directory / "book.json";
}

start_kind enter(const std::filesystem::path& book, ledger_content of, const manner& how = {}) {
    of.header.held_out = how.held_out;
    const auto directory = how.directory.empty() ? of.header_hash : how.directory;
    const auto mark = mark_in(book, directory);
    std::filesystem::create_directories(mark.parent_path());
    return enter_run(book, {.ledger = of,
                            .phases = how.promised,
                            .data_digest = how.data,
                            .split = how.split,
                            .place = "/runs/" + directory,
                            .mark = mark,
                            .sketches = how.sketches});
}

/// As cp -r does.
void copy_run(const std::filesystem::path& book, const std::string& from, const std::string& to) {
    std::filesystem::remove_all(mark_in(book, to).parent_path());
    std::filesystem::copy(mark_in(book, from).parent_path(), mark_in(book, to).parent_path(),
                          std::filesystem::copy_options::recursive);
}

ledger_content run_by(const std::string& unit, const std::string& id, double epsilon = 0.9) {
    auto out = run(id, epsilon);
    out.header.unit = unit;
    return out;
}

}  // namespace

TEST_CASE("runs of a book add up, and compose to less") {
    const scratch_directory scratch;
    const auto place = scratch / "table.book";
    for (const std::string id : {"a", "b", "c"}) enter(place, run(id));
    const auto book = read_book(place);
    REQUIRE(book.runs.size() == 3);
    CHECK(book.runs[1].place == "/runs/b");
    CHECK(book.runs[0].data == book.runs[2].data);
    const auto sums = sums_of(book);
    REQUIRE(sums.size() == 1);
    CHECK(*sums[0].epsilon == Approx(2.7));
    CHECK(sums[0].delta == Approx(3e-5));
    // What the accountant says of all steps at once, which is a test of its own against other engines.
    const std::vector<phase> together = {{1.1, 0.01, 300}};
    CHECK(*sums[0].pld == Approx(make_accountant("pld")->epsilon(together, 3e-5)).epsilon(1e-3));
    CHECK(*sums[0].pld < *sums[0].epsilon);
}

TEST_CASE("a run is in a book once, however often it is entered") {
    const scratch_directory scratch;
    for (int i = 0; i < 3; ++i) enter(scratch / "book", run("a"));
    CHECK(read_book(scratch / "book").runs.size() == 1);
}

TEST_CASE("data are named under the book's own key, and a book is its owner's alone") {
    const scratch_directory scratch;
    enter(scratch / "one", run("a"));
    enter(scratch / "one", run("b"), {.data = "another table"});
    enter(scratch / "two", run("a"));
    const auto one = read_book(scratch / "one"), two = read_book(scratch / "two");
    CHECK(one.runs[0].data != one.runs[1].data);
    CHECK(one.runs[0].data != two.runs[0].data);
    struct stat directory {
    }, key{};
    REQUIRE(::stat((scratch / "one").c_str(), &directory) == 0);
    REQUIRE(::stat((scratch / "one/book.key").c_str(), &key) == 0);
    CHECK((directory.st_mode & 0777) == 0700);
    CHECK((key.st_mode & 0777) == 0600);
}

TEST_CASE("composed, runs cost the worse of their training and of their looks at held-out units") {
    const scratch_directory scratch;
    for (const char* id : {"a", "b"}) {
        auto looking = run(id, 2);
        looking.header.held_out = rldp::publication::noised;
        looking.header.looks = {3, noise_of_looks(3, 2, 1e-5)};
        enter(scratch / "book", looking);
    }
    const auto sum = sums_of(read_book(scratch / "book")).at(0);
    const look_plan both{6, noise_of_looks(3, 2, 1e-5)};
    CHECK(*sum.epsilon == 4);
    CHECK(*sum.pld == Approx(epsilon_of(both, 2e-5)));
    CHECK(*sum.pld > 2.5);  // its training alone composes to less than 1.4
    CHECK(make_accountant("pld")->epsilon(std::vector<phase>{{1.1, 0.01, 200}}, 2e-5) < 1.4);
}

TEST_CASE("a filter's steps are not composed, for what it released chose them") {
    const scratch_directory scratch;
    enter(scratch / "book", run("a"));
    enter(scratch / "book", run("b", 2), {.promised = {}});
    const auto sum = sums_of(read_book(scratch / "book")).at(0);
    CHECK(*sum.epsilon == Approx(2.9));
    CHECK(*sum.pld == Approx(2 + make_accountant("pld")->epsilon(steps, 1e-5)).epsilon(1e-3));
    enter(scratch / "filters", run("a", 2), {.promised = {}});
    CHECK(*sums_of(read_book(scratch / "filters")).at(0).pld == Approx(2));
}

TEST_CASE("a run without guarantee takes that of all") {
    const scratch_directory scratch;
    enter(scratch / "book", run("a"));
    auto open = run("b");
    open.header.insecure_reproducible = true;
    enter(scratch / "book", open);
    const auto sum = sums_of(read_book(scratch / "book")).at(0);
    CHECK_FALSE(sum.epsilon);
    CHECK_FALSE(sum.pld);
    CHECK(has(refusal([&] { set_total(scratch / "book", {.epsilon = 100, .delta = 0.1, .unit = "record"}); }),
              "/runs/b guarantees nothing"));
}

TEST_CASE("contracts of different units are summed apart") {
    const scratch_directory scratch;
    enter(scratch / "book", run("a"));
    auto people = run("b", 3);
    people.header.unit = "patient";
    enter(scratch / "book", people);
    const auto sums = sums_of(read_book(scratch / "book"));
    REQUIRE(sums.size() == 2);
    CHECK(*sums[0].epsilon == Approx(0.9));
    CHECK(sums[1].unit == "patient");
    CHECK(*sums[1].epsilon == Approx(3));
}

TEST_CASE("where all protect whom they hold out, ε adds up over splits, and distributions within one") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    enter(place, run("b"), {.split = "another", .held_out = rldp::publication::none});
    enter(place, run("c"), {.split = "another"});
    const auto sums = sums_of(read_book(place));
    REQUIRE(sums.size() == 1);
    CHECK(sums[0].split.empty());
    CHECK(*sums[0].epsilon == Approx(2.7));
    const std::vector<phase> twice = {{1.1, 0.01, 200}};
    const auto apart = make_accountant("pld")->epsilon(steps, 1e-5) + make_accountant("pld")->epsilon(twice, 2e-5);
    CHECK(*sums[0].pld == Approx(apart).epsilon(1e-3));
    const std::vector<phase> together = {{1.1, 0.01, 300}};
    CHECK(*sums[0].pld > 1.05 * make_accountant("pld")->epsilon(together, 3e-5));
    CHECK_NOTHROW(set_total(place, {.epsilon = 2.7, .delta = 3e-5, .unit = "record"}));
}

TEST_CASE("a run that shows raw figures adds up within its own split alone") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    enter(place, run("b"), {.split = "another", .held_out = rldp::publication::raw});
    CHECK(sums_of(read_book(place)).size() == 2);
    CHECK(has(refusal([&] { set_total(place, {.epsilon = 9, .delta = 1e-3, .unit = "record"}); }),
              "/runs/b shows raw figures of those that it holds out, and /runs/a splits the data otherwise"));
    enter(scratch / "one", run("a"));
    enter(scratch / "one", run("b"), {.held_out = rldp::publication::raw});
    const auto sums = sums_of(read_book(scratch / "one"));
    REQUIRE(sums.size() == 1);
    CHECK(*sums[0].epsilon == Approx(1.8));
}

TEST_CASE("a book of an earlier version is read: its runs showed raw figures, under a split known by name") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    const auto old = [](const char* id, const char* split) {
        return fmt::format(
            R"({{"began_run":{{"run":"{}","place":"/old/{}","began":"2026-01-31T12:00:00Z","data":"d","unit":"record",)"
            R"("split":"{}","epsilon":0.5,"delta":1e-5,"padding_delta":0,"phases":[]}}}})"
            "\n",
            id, id, split);
    };
    rldp::write_file(place / "book.jsonl", old("x", "hash 42") + old("y", "hash 42") + old("z", "hash 43"));
    const auto book = read_book(place);
    REQUIRE(book.runs.size() == 3);
    CHECK(book.runs[0].held_out == rldp::publication::raw);
    CHECK(sums_of(book).size() == 2);
    CHECK(*sums_of(book)[0].epsilon == Approx(1));
    // One that goes on is no copy, the first time.
    CHECK(enter(place, run("x")) == start_kind::again);
    copy_run(place, "x", "x2");
    CHECK(enter(place, run("x")) == start_kind::again);
    CHECK(enter(place, run("x"), {.directory = "x2"}) == start_kind::copy);
    CHECK(enter(place, run("y"), {.directory = "y"}) == start_kind::again);
    CHECK(enter(place, run("y"), {.directory = "without a mark"}) == start_kind::copy);
}

TEST_CASE("a copied run takes its promise once more, whichever of the two goes on first") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    set_total(place, {.epsilon = 2.5, .delta = 1e-3, .unit = "record"});
    CHECK(enter(place, run("f", 1)) == start_kind::first);
    copy_run(place, "f", "f2");
    copy_run(place, "f", "f3");
    const auto epsilon = [&] { return *sums_of(read_book(place)).at(0).epsilon; };
    SECTION("the original") {
        CHECK(enter(place, run("f", 1)) == start_kind::again);
        CHECK(enter(place, run("f", 1), {.directory = "f2"}) == start_kind::copy);
    }
    SECTION("the copy") {
        CHECK(enter(place, run("f", 1), {.directory = "f2"}) == start_kind::again);
        CHECK(enter(place, run("f", 1)) == start_kind::copy);
    }
    CHECK(epsilon() == Approx(2));
    // Both go on as often as they like, and the third is one too many.
    for (const auto* directory : {"f", "f2", "f", "f2"})
        CHECK(enter(place, run("f", 1), {.directory = directory}) == start_kind::again);
    const auto line = refusal([&] { enter(place, run("f", 1), {.directory = "f3"}); });
    CHECK(has(line, "which as a copy of /runs/f"));
    CHECK(has(line, "3 runs come to ε = 3 (added up), and the total is 2.5"));
    CHECK(epsilon() == Approx(2));
    const auto book = read_book(place);
    REQUIRE(book.runs.size() == 2);
    CHECK(book.runs[0].copy_of.empty());
    CHECK(has(book.runs[1].copy_of, "/runs/f"));
    // With leave the third, too, is one of its own.
    set_total(place, {.epsilon = 3, .delta = 1e-3, .unit = "record"});
    CHECK(enter(place, run("f", 1), {.directory = "f3"}) == start_kind::copy);
    for (const auto* directory : {"f", "f2", "f3", "f2", "f"})
        CHECK(enter(place, run("f", 1), {.directory = directory}) == start_kind::again);
    CHECK(epsilon() == Approx(3));
}

TEST_CASE("a book knows all units of its runs, but for those that it refused") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    const auto some = [](std::uint64_t from, std::uint64_t to) {
        rldp::unit_sketch out;
        for (auto i = from; i < to; ++i) out.hashes.push_back(i * 0x9e3779b97f4a7c15);
        return rldp::unit_sketches{{"rows", out}};
    };
    const auto known = [&] { return read_sketches(place).at("rows").units.size(); };
    set_total(place, {.epsilon = 2, .delta = 1e-3, .unit = "record"});
    enter(place, run("a"), {.sketches = some(0, 10)});
    CHECK(known() == 10);
    enter(place, run("b"), {.sketches = some(5, 20)});
    CHECK(known() == 20);
    CHECK_FALSE(refusal([&] { enter(place, run("c"), {.sketches = some(20, 30)}); }).empty());
    CHECK(known() == 20);
}

TEST_CASE("a directory that is brought back from a copy is one") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    copy_run(place, "a", "kept");
    enter(place, run("a"));
    copy_run(place, "kept", "a");
    CHECK(enter(place, run("a")) == start_kind::copy);
    CHECK(read_book(place).runs.size() == 2);
}

TEST_CASE("a crash between the writes of a start charges nothing twice, and hides no copy") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    const auto lines = place / "book.jsonl", mark = mark_in(place, "a");
    enter(place, run("a"));
    // What a crash left: book and directory as they were before a start or after it, and the mark in between.
    const auto book_before = rldp::read_file(lines), mark_before = rldp::read_file(mark);
    copy_run(place, "a", "before");
    enter(place, run("a"));
    const auto book_after = rldp::read_file(lines);
    auto both = read_mark(mark);
    rldp::write_file(mark, mark_before);
    const auto known = read_mark(mark);
    both.starts.insert(both.starts.begin(), known.starts.begin(), known.starts.end());
    REQUIRE(both.starts.size() == 2);
    write_mark(mark, both);
    SECTION("before the book had it") {
        rldp::write_file(lines, book_before);
    }
    SECTION("after") {
        REQUIRE(rldp::read_file(lines) == book_after);
    }
    SECTION("while it was written") {
        rldp::write_file(lines, book_after.substr(0, book_after.size() - 9));
    }
    CHECK(enter(place, run("a")) == start_kind::again);
    CHECK(read_book(place).runs.size() == 1);
    CHECK(enter(place, run("a"), {.directory = "before"}) == start_kind::copy);
}

TEST_CASE("a start stands in the directory before the book has it, and alone once it has") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    const auto before = read_mark(mark_in(place, "a"));
    REQUIRE(before.starts.size() == 1);
    CHECK(before.book == place);
    {
        // Readable, and nobody else's to write.
        const int held = ::open((place / "book.jsonl").c_str(), O_RDWR | O_CLOEXEC);
        REQUIRE(::flock(held, LOCK_EX) == 0);
        CHECK(has(refusal([&] { enter(place, run("a")); }), "book.jsonl: another process is writing it"));
        ::close(held);
    }
    const auto between = read_mark(mark_in(place, "a"));
    REQUIRE(between.starts.size() == 2);
    CHECK(between.starts[0] == before.starts[0]);
    CHECK(between.starts[1].nonce != before.starts[0].nonce);
    CHECK(read_book(place).runs.at(0).nonce == before.starts[0].nonce);
    CHECK(enter(place, run("a")) == start_kind::again);
    CHECK(read_mark(mark_in(place, "a")).starts.size() == 1);
}

TEST_CASE("a crash while a copy is entered charges it once") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    copy_run(place, "a", "b");
    enter(place, run("a"));
    const auto book_before = rldp::read_file(place / "book.jsonl");
    const auto mark = mark_in(place, "b");
    const auto stale = read_mark(mark);
    REQUIRE(enter(place, run("a"), {.directory = "b"}) == start_kind::copy);
    auto both = read_mark(mark);
    both.starts.insert(both.starts.begin(), stale.starts.front());
    write_mark(mark, both);
    const bool written = GENERATE(false, true);
    if (!written) rldp::write_file(place / "book.jsonl", book_before);
    CHECK(enter(place, run("a"), {.directory = "b"}) == (written ? start_kind::again : start_kind::copy));
    CHECK(read_book(place).runs.size() == 2);
    CHECK(enter(place, run("a")) == start_kind::again);
}

TEST_CASE("a total for persons prices runs by record for as many records as a person has") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a", 0.5));
    enter(place, run_by("patient", "b", 1), {.split = "of patients"});
    // 4 records: 4 · 0.5, and δ · (e² − 1)/(e^½ − 1).
    const double delta = 1e-5 * (std::exp(2.0) - 1) / (std::exp(0.5) - 1);
    CHECK(price_for_group(0.5, 1e-5, 4).delta == Approx(delta).epsilon(1e-9));
    CHECK(price_for_group(0, 1e-5, 4).delta == Approx(4e-5));
    const auto total = [&](double epsilon, double at, std::optional<std::int64_t> records) {
        set_total(place, {.epsilon = epsilon, .delta = at, .unit = "patient", .records_per_unit = records});
    };
    CHECK(has(refusal([&] { total(2.99, 1e-3, 4); }),
              "2 runs, 1 of them by record and priced for 4 records, come to ε = 3 (added up)"));
    CHECK(has(refusal([&] { total(3, 1e-5 + 0.99 * delta, 4); }), "the δ of 2 runs"));
    total(3, 1e-5 + 1.01 * delta, 4);
    CHECK(has(refusal([&] { enter(place, run("c", 0.1)); }), "3 runs, 2 of them by record"));
    total(3.4, 1e-3, 4);
    CHECK_NOTHROW(enter(place, run("c", 0.1)));
    CHECK(has(refusal([&] { total(1e300, 0.5, 1000); }), "the δ of 3 runs"));  // e^500 of it
    SECTION("by distributions, the persons' own") {
        set_total(place,
                  {.epsilon = 3.39, .delta = 1e-3, .unit = "patient", .by = composition::pld, .records_per_unit = 4});
    }
    SECTION("raw figures of those held out have no such sum") {
        enter(scratch / "raw", run("a"), {.held_out = rldp::publication::raw});
        enter(scratch / "raw", run_by("patient", "b", 1), {.split = "of patients"});
        CHECK(has(refusal([&] {
                      set_total(scratch / "raw",
                                {.epsilon = 99, .delta = 0.1, .unit = "patient", .records_per_unit = 4});
                  }),
                  "shows raw figures"));
    }
    for (const auto records : {0, -1}) CHECK(has(refusal([&] { total(9, 1e-3, records); }), "--records-per-unit is"));
    CHECK(
        has(refusal([&] { set_total(place, {.epsilon = 9, .delta = 1e-3, .unit = "record", .records_per_unit = 4}); }),
            "of a total for persons"));
}

TEST_CASE("without that there is a total for each unit, and none of a unit that has none") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    enter(place, run_by("patient", "b", 3), {.split = "of patients"});
    set_total(place, {.epsilon = 2, .delta = 1e-3, .unit = "record"});
    CHECK(has(refusal([&] { enter(place, run_by("patient", "c")); }),
              "counts by patient, and no total is one for each patient"));
    set_total(place, {.epsilon = 4, .delta = 1e-3, .unit = "patient"});
    CHECK_NOTHROW(enter(place, run("d")));
    CHECK_NOTHROW(enter(place, run_by("patient", "e")));
    CHECK(has(refusal([&] { enter(place, run("f")); }), "and the total for each record is 2"));
    CHECK(has(refusal([&] { enter(place, run_by("patient", "g")); }), "and the total for each patient is 4"));
    CHECK(read_book(place).totals.size() == 2);
}

TEST_CASE("a book that can't be written is refused by name, and nothing is entered") {
    const scratch_directory scratch;
    const auto entered_at = [&](const std::filesystem::path& book, const std::filesystem::path& mark) {
        const auto other = run("other");
        return refusal([&] {
            enter_run(book, {.ledger = other,
                             .phases = steps,
                             .data_digest = "",
                             .split = "",
                             .place = "/runs/other",
                             .mark = mark});
        });
    };
    const auto file = scratch.write("file", "x");
    CHECK(has(entered_at(file + "/book", scratch / "mark"), "privacy.book " + file + "/book: "));
    CHECK(has(entered_at("/proc/rldp/book", scratch / "mark"), "a run begins once its book is written"));
    // Its lines can't be opened: a directory has their name.
    enter(scratch / "book", run("a"));
    std::filesystem::remove(scratch / "book/book.jsonl");
    std::filesystem::create_directory(scratch / "book/book.jsonl");
    CHECK(has(refusal([&] { enter(scratch / "book", run("b")); }), (scratch / "book/book.jsonl").string()));
    // Nor can the run's mark: then the book has no line of it.
    enter(scratch / "other", run("a"));
    CHECK(has(entered_at(scratch / "other", "/proc/rldp/book.json"), "/proc/rldp/book.json"));
    CHECK(read_book(scratch / "other").runs.size() == 1);
}

TEST_CASE("a total refuses the run that would exceed it, and leaves no trace of it") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    set_total(place, {.epsilon = 2, .delta = 1e-4, .unit = "record"});
    enter(place, run("a"));
    enter(place, run("b"));
    const auto line = refusal([&] { enter(place, run("c")); });
    CHECK(has(line, "privacy.book " + place.string()));
    CHECK(has(line, "3 runs come to ε = 2.7 (added up), and the total is 2"));
    CHECK(read_book(place).runs.size() == 2);
    CHECK_NOTHROW(enter(place, run("a")));  // it is there already
    SECTION("composed, there is room") {
        set_total(place, {.epsilon = 2, .delta = 1e-4, .unit = "record", .by = composition::pld});
        CHECK_NOTHROW(enter(place, run("c")));
        CHECK(read_book(place).runs.size() == 3);
    }
    SECTION("δ is counted, too") {
        set_total(place, {.epsilon = 20, .delta = 2e-5, .unit = "record"});
        CHECK(has(refusal([&] { enter(place, run("c")); }), "the δ of 3 runs add up to 3e-05, and the total is 2e-05"));
    }
    SECTION("no total below what is spent") {
        CHECK(has(refusal([&] { set_total(place, {.epsilon = 1, .delta = 1e-4, .unit = "record"}); }), "give more"));
        CHECK(read_book(place).totals.at(0).epsilon == 2);
    }
    SECTION("no total that is none") {
        for (const double epsilon : {0.0, -1.0, std::nan(""), HUGE_VAL})
            CHECK(
                has(refusal([&] { set_total(place, {.epsilon = epsilon, .delta = 1e-4, .unit = "record"}); }), "ε is"));
        CHECK(has(refusal([&] { set_total(place, {.epsilon = 9, .delta = 1, .unit = "record"}); }), "δ is"));
    }
}

TEST_CASE("entries made at once are all there") {
    const scratch_directory scratch;
    std::vector<std::thread> all;
    for (int i = 0; i < 8; ++i) all.emplace_back([&, i] { enter(scratch / "book", run(std::to_string(i))); });
    for (auto& one : all) one.join();
    const auto book = read_book(scratch / "book");
    CHECK(book.runs.size() == 8);
    CHECK(std::all_of(book.runs.begin(), book.runs.end(), [&](const auto& r) { return r.data == book.runs[0].data; }));
}

TEST_CASE("a line that a crash cut counts for nothing, and gives way to the next") {
    const scratch_directory scratch;
    enter(scratch / "book", run("a"));
    std::ofstream(scratch / "book/book.jsonl", std::ios::app) << R"({"began_run":{"run":"b)";
    CHECK(read_book(scratch / "book").runs.size() == 1);
    enter(scratch / "book", run("c"));
    const auto book = read_book(scratch / "book");
    REQUIRE(book.runs.size() == 2);
    CHECK(book.runs[1].run == "c");
}

TEST_CASE("a directory of another purpose does not become a book") {
    const scratch_directory scratch;
    std::filesystem::create_directory(scratch / "shared");
    std::ofstream(scratch / "shared/other.txt") << "x";
    REQUIRE(::chmod((scratch / "shared").c_str(), 0755) == 0);
    CHECK(has(refusal([&] { enter(scratch / "shared", run("a")); }), "holds other things and no budget book"));
    CHECK_FALSE(std::filesystem::exists(scratch / "shared/.gitignore"));
    struct stat found {};
    REQUIRE(::stat((scratch / "shared").c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0755);
    std::filesystem::create_directory(scratch / "empty");
    CHECK_NOTHROW(enter(scratch / "empty", run("a")));
}

TEST_CASE("a damaged book is refused with its line") {
    const scratch_directory scratch;
    enter(scratch / "book", run("a"));
    const auto path = scratch / "book/book.jsonl";
    const auto whole = rldp::read_file(path);
    const auto with = [&](const std::string& from, const std::string& to) {
        auto text = whole;
        const auto at = text.find(from);
        REQUIRE(at != std::string::npos);
        text.replace(at, from.size(), to);
        rldp::write_file(path, text);
        return refusal([&] { read_book(scratch / "book"); });
    };
    CHECK(has(with(R"("epsilon":0.9)", R"("epsilon":-1)"), "book.jsonl:1: key 'epsilon'"));
    CHECK(has(with(R"("delta":1e-05)", R"("delta":2)"), "book.jsonl:1"));
    CHECK(has(with(R"("steps":100)", R"("steps":0)"), "book.jsonl:1"));
    CHECK(has(with("began_run", "begun"), "neither a run nor a total"));
    CHECK(has(with(R"("held_out":"private")", R"("held_out":"some")"), "publication \"some\" is unknown"));
    CHECK(has(with(R"({"began_run")", R"({"start":{"run":"z","nonce":"1","place":"p","began":"b"}})"
                                      "\n"
                                      R"({"began_run")"),
              "book.jsonl:1: a start of a run that is not in the book"));
    CHECK(has(with("{\"began_run", "{{"), "book.jsonl:1"));
    CHECK(has(refusal([&] { read_book(scratch / "none"); }), "holds no budget book"));
}
