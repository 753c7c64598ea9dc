// rldp book and rldp runs, beside the runs that they tell of.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using nlohmann::json;

namespace {

/// A text of 400 lines and a configuration of three steps on it.
struct private_text {
    private_text() {
        std::string lines;
        for (int i = 0; i < 400; ++i) lines += fmt::format("The patient of day {} is well.\n", i);
        scratch.write("notes.txt", lines);
        scratch.write("mine.json", json{{"privacy", {{"epsilon", 2}, {"delta", 1e-4}}},
                                        {"data", {{"path", "notes.txt"}, {"max_tokens", 16}}},
                                        {"model", {{"path", std::filesystem::absolute("config/tiny-gpt2")}}},
                                        {"method", {{"name", "static"}}},
                                        {"train", {{"steps", 3}, {"expected_batch_size", 8}, {"eval_records", 2}}}}
                                       .dump());
    }
    answer says(const std::string& arguments) const { return rldp_says(arguments, scratch.path()); }
    answer run(const std::string& name, const std::string& more = "--quiet") const {
        return says("run " + at("mine.json") + " --out " + at("runs/" + name) + " " + more);
    }
    std::string at(const std::string& name) const { return scratch / name; }
    scratch_directory scratch;
};

}  // namespace

TEST_CASE("runs on a file are in its book, and a total refuses the next") {
    const private_text c;
    const auto first = c.run("one", "--set run.name='\"the pilot\"' --set 'run.tags=[\"ward-3\"]'");
    INFO(first.err);
    REQUIRE(first.status == 0);
    REQUIRE(c.run("two").status == 0);
    const auto found = json::parse(c.says("book notes --json").out);
    REQUIRE(found["runs"].size() == 2);
    CHECK(found["runs"][0]["place"] == c.at("runs/one"));
    CHECK(found["runs"][0]["data"] == found["runs"][1]["data"]);
    CHECK(found["sums"][0]["epsilon_basic"].get<double>() == Approx(4).epsilon(1e-3));
    CHECK(found["sums"][0]["epsilon_pld"].get<double>() < 4);
    CHECK(found["runs"][0]["split"] == found["runs"][1]["split"]);
    CHECK(found["runs"][0]["split"].get<std::string>().size() == 64);
    CHECK(found["runs"][0]["held_out"] == "private");
    CHECK(has(c.says("book notes").out, "no total is set"));
    CHECK(has(c.says("book").out, "notes  2 runs\n1 book in " + c.at("books")));

    REQUIRE(c.says("book notes --total-epsilon 5 --total-delta 1e-3").status == 0);
    const auto third = c.run("three");
    CHECK(third.status == 2);
    CHECK(has(third.err, "3 runs come to ε = 6 (added up), and the total is 5"));
    CHECK_FALSE(std::filesystem::exists(c.at("runs/three")));
    CHECK(c.run("three", "--set privacy.book=none").status == 0);

    const auto listed = json::parse(c.says("runs " + c.at("runs") + " --json").out);
    REQUIRE(listed.size() == 3);
    CHECK(listed[0]["title"] == "the pilot");
    CHECK(listed[0]["state"] == "done");
    const auto tagged = c.says("runs " + c.at("runs") + " --tag ward-3").out;
    CHECK(has(tagged, "the pilot (one)"));
    CHECK_FALSE(has(tagged, "two"));
    CHECK(has(rldp::read_file(c.at("runs/one/public/certificate.html")), "“the pilot”"));
    CHECK(c.says("verify " + c.at("runs/one")).status == 0);
}

TEST_CASE("links, copies, other directories and appended lines lead to the same book") {
    const private_text c;
    REQUIRE(c.run("one").status == 0);
    const auto lines = rldp::read_file(c.at("notes.txt"));
    std::filesystem::create_directory(c.at("elsewhere"));
    std::filesystem::create_symlink(c.at("notes.txt"), c.at("linked.txt"));
    c.scratch.write("elsewhere/export-2.txt", lines + "And one more is well.\n");
    c.scratch.write("elsewhere/mine.json", rldp::read_file(c.at("mine.json")));
    std::string other;
    for (int i = 0; i < 400; ++i) other += fmt::format("Nobody came to the garden on day {}.\n", i);
    c.scratch.write("garden.txt", other);
    const auto counted = c.run("two", "--private-counts --set data.path=" + c.at("linked.txt"));
    CHECK(counted.status == 0);
    CHECK(has(counted.err, "PRIVATE, not to be passed on: budget book " + c.at("books/notes")));
    const auto third =
        c.says("run " + c.at("elsewhere/mine.json") + " --quiet --set data.path=" + c.at("elsewhere/export-2.txt") +
               " --out " + c.at("runs/three"));
    CHECK(third.status == 0);
    CHECK_FALSE(has(third.err, c.at("books")));
    CHECK(c.run("four", "--set data.path=" + c.at("garden.txt")).status == 0);
    CHECK(json::parse(c.says("book notes --json").out)["runs"].size() == 3);
    CHECK(json::parse(c.says("book garden --json").out)["runs"].size() == 1);
    const auto slip = c.run("five", "--set privacy.book=ntoes");
    CHECK(slip.status == 2);
    CHECK(has(slip.err, "would be a new book, but " + c.at("books/notes")));
    CHECK(c.says("book ntoes --new").status == 0);
    CHECK(c.run("five", "--set privacy.book=ntoes").status == 0);
    CHECK(has(c.says("check " + c.at("mine.json")).out, "of the books in " + c.at("books")));
    for (const auto* name : {"one", "four"}) {
        const auto config = json::parse(rldp::read_file(c.at("runs/" + std::string(name) + "/public/config.json")));
        CHECK(config["privacy"]["book"] == "found");  // which one it is follows from the data
    }
}

TEST_CASE("a book of an earlier version, beside the configuration, is gone on with and says so") {
    const private_text c;
    REQUIRE(c.run("one", "--set privacy.book=" + c.at("notes.book")).status == 0);
    for (const auto* name : {"notes.book/book.sketch", "notes.book/lock"}) std::filesystem::remove(c.at(name));
    const auto again = c.run("two", "");
    CHECK(again.status == 0);
    CHECK(has(again.err, "privacy.book: " + c.at("notes.book") + " is of an earlier version"));
    CHECK(json::parse(c.says("book " + c.at("notes.book") + " --json").out)["runs"].size() == 2);
    CHECK_FALSE(has(c.run("three", "").err, "of an earlier version"));
}

TEST_CASE("where no book can be written, no run begins") {
    const private_text c;
    c.scratch.write("books", "a file");
    const auto refused = c.run("one");
    CHECK(refused.status == 2);
    CHECK(has(refused.err, "privacy.book " + c.at("books")));
    CHECK(has(refused.err, "a run begins once its book is written"));
    CHECK_FALSE(std::filesystem::exists(c.at("runs/one")));
}

TEST_CASE("made-up data have no book, and a book that is none is named") {
    const private_text c;
    REQUIRE(c.run("one", "--set data.path=synthetic:300 --set data.template=config/narrative-uci.json").status == 0);
    CHECK_FALSE(std::filesystem::exists(c.at("books")));
    const auto none = c.says("book " + c.at("nowhere.book"));
    CHECK(none.status == 2);
    CHECK(has(none.err, "holds no budget book"));
    CHECK(has(c.says("book " + c.at("x.book") + " --total-epsilon 5").err, "give both"));
    CHECK(has(c.says("book x --records-per-unit 5").err, "is of a total"));
    CHECK(has(c.says("book --new").err, "which one?"));
    CHECK(has(c.says("runs " + c.at("nowhere")).err, "is no directory"));
}
