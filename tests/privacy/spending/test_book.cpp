#include "privacy/spending/book.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

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

void enter(const std::filesystem::path& book, const ledger_content& of, const std::vector<phase>& promised = steps,
           const std::string& data = "the table", const std::string& split = "hash 42") {
    enter_run(
        book,
        {.ledger = of, .phases = promised, .data_digest = data, .split = split, .place = "/runs/" + of.header_hash});
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
    enter(scratch / "one", run("b"), steps, "another table");
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

TEST_CASE("a filter's steps are not composed, for what it released chose them") {
    const scratch_directory scratch;
    enter(scratch / "book", run("a"));
    enter(scratch / "book", run("b", 2), {});
    const auto sum = sums_of(read_book(scratch / "book")).at(0);
    CHECK(*sum.epsilon == Approx(2.9));
    CHECK(*sum.pld == Approx(2 + make_accountant("pld")->epsilon(steps, 1e-5)).epsilon(1e-3));
    enter(scratch / "filters", run("a", 2), {});
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

TEST_CASE("runs of different splits have no sum") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    enter(place, run("b"), steps, "the table", "hash 43");
    CHECK(sums_of(read_book(place)).size() == 2);
    CHECK(has(refusal([&] { set_total(place, {.epsilon = 9, .delta = 1e-3, .unit = "record"}); }),
              "/runs/b splits the data by hash 43, /runs/a by hash 42"));
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
    SECTION("another unit is none that it allows") {
        auto people = run("c", 0.1);
        people.header.unit = "patient";
        CHECK(has(refusal([&] { enter(place, people); }), "counts by patient"));
    }
    SECTION("no total below what is spent") {
        CHECK(has(refusal([&] { set_total(place, {.epsilon = 1, .delta = 1e-4, .unit = "record"}); }), "give more"));
        CHECK(read_book(place).total->epsilon == 2);
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
    CHECK(has(with("{\"began_run", "{{"), "book.jsonl:1"));
    CHECK(has(refusal([&] { read_book(scratch / "none"); }), "holds no budget book"));
}
