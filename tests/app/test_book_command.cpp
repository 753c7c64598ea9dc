// rldp book and rldp runs, beside the runs that they tell of.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config/base/files.hpp"
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
    answer run(const std::string& name, const std::string& more = "") const {
        return says("run " + at("mine.json") + " --quiet --out " + at("runs/" + name) + " " + more);
    }
    std::string at(const std::string& name) const { return scratch / name; }
    scratch_directory scratch;
};

}  // namespace

TEST_CASE("runs on a file are in its book, beside the configuration, and a total refuses the next") {
    const private_text c;
    const auto first = c.run("one", "--set run.name='\"the pilot\"' --set 'run.tags=[\"ward-3\"]'");
    INFO(first.err);
    REQUIRE(first.status == 0);
    REQUIRE(c.run("two").status == 0);
    const auto found = json::parse(c.says("book " + c.at("notes.book") + " --json").out);
    REQUIRE(found["runs"].size() == 2);
    CHECK(found["runs"][0]["place"] == c.at("runs/one"));
    CHECK(found["runs"][0]["data"] == found["runs"][1]["data"]);
    CHECK(found["sums"][0]["epsilon_basic"].get<double>() == Approx(4).epsilon(1e-3));
    CHECK(found["sums"][0]["epsilon_pld"].get<double>() < 4);
    CHECK(found["sums"][0]["split"] == "hash 42");
    CHECK(has(c.says("book " + c.at("notes.book")).out, "no total is set"));

    REQUIRE(c.says("book " + c.at("notes.book") + " --total-epsilon 5 --total-delta 1e-3").status == 0);
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

TEST_CASE("made-up data have no book, and a book that is none is named") {
    const private_text c;
    REQUIRE(c.run("one", "--set data.path=synthetic:300 --set data.template=config/narrative-uci.json").status == 0);
    CHECK_FALSE(std::filesystem::exists(c.at("synthetic:300.book")));
    const auto none = c.says("book " + c.at("nowhere.book"));
    CHECK(none.status == 2);
    CHECK(has(none.err, "holds no budget book"));
    CHECK(has(c.says("book " + c.at("x.book") + " --total-epsilon 5").err, "give both"));
    CHECK(has(c.says("runs " + c.at("nowhere")).err, "is no directory"));
}
