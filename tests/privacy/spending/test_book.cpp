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

#include "privacy/spending/book_files.hpp"
#include "privacy/spending/book_search.hpp"
#include "tests/catch.hpp"
#include "tests/privacy/spending/book_runs.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;
using namespace rldp::privacy::testing;

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
    CHECK(compute_sums(book).size() == 2);
    CHECK(*compute_sums(book)[0].epsilon_guaranteed == Approx(1));
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
    set_total(place, {.epsilon_budget = 2.5, .delta = 1e-3, .unit = "record"});
    CHECK(enter(place, run("f", 1)) == start_kind::first);
    copy_run(place, "f", "f2");
    copy_run(place, "f", "f3");
    const auto epsilon = [&] { return *compute_sums(read_book(place)).at(0).epsilon_guaranteed; };
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
    set_total(place, {.epsilon_budget = 3, .delta = 1e-3, .unit = "record"});
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
    set_total(place, {.epsilon_budget = 2, .delta = 1e-3, .unit = "record"});
    enter(place, run("a"), {.sketches = some(0, 10)});
    CHECK(known() == 10);
    enter(place, run("b"), {.sketches = some(5, 20)});
    CHECK(known() == 20);
    CHECK_FALSE(refusal([&] { enter(place, run("c"), {.sketches = some(20, 30)}); }).empty());
    CHECK(known() == 20);
}

TEST_CASE("a mark that knows another header's last start is not that one's") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    CHECK(enter(place, run("b"), {.directory = "a"}) == start_kind::first);
    CHECK(read_book(place).runs.size() == 2);
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
    set_total(place, {.epsilon_budget = 2, .delta = 1e-4, .unit = "record"});
    enter(place, run("a"));
    enter(place, run("b"));
    const auto line = refusal([&] { enter(place, run("c")); });
    CHECK(has(line, "privacy.book " + place.string()));
    CHECK(has(line, "3 runs come to ε = 2.7 (added up), and the total is 2"));
    CHECK(read_book(place).runs.size() == 2);
    CHECK_NOTHROW(enter(place, run("a")));  // it is there already
    const auto has_room = [&](double epsilon) {
        return refusal([&] {
            check_room(place, {.ledger = run("c", epsilon),
                               .phases = steps,
                               .data_digest = "the table",
                               .split = "one split",
                               .place = "/runs/c",
                               .mark = {}});
        });
    };
    CHECK(has_room(0.9) == line);
    CHECK(has_room(0.2).empty());
    CHECK(read_book(place).runs.size() == 2);
    SECTION("composed, there is room") {
        set_total(place, {.epsilon_budget = 2, .delta = 1e-4, .unit = "record", .by = composition_rule::pld});
        CHECK_NOTHROW(enter(place, run("c")));
        CHECK(read_book(place).runs.size() == 3);
    }
    SECTION("δ is counted, too") {
        set_total(place, {.epsilon_budget = 20, .delta = 2e-5, .unit = "record"});
        CHECK(has(refusal([&] { enter(place, run("c")); }), "the δ of 3 runs add up to 3e-05, and the total is 2e-05"));
    }
    SECTION("no total below what is spent") {
        CHECK(has(refusal([&] { set_total(place, {.epsilon_budget = 1, .delta = 1e-4, .unit = "record"}); }),
                  "give more"));
        CHECK(read_book(place).totals.at(0).epsilon_budget == 2);
    }
    SECTION("no total that is none") {
        for (const double epsilon : {0.0, -1.0, std::nan(""), HUGE_VAL})
            CHECK(has(refusal([&] { set_total(place, {.epsilon_budget = epsilon, .delta = 1e-4, .unit = "record"}); }),
                      "ε is"));
        CHECK(has(refusal([&] { set_total(place, {.epsilon_budget = 9, .delta = 1, .unit = "record"}); }), "δ is"));
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
