// rldp discover: from columns of known kinds to a schema, and its entry in the budget book.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using nlohmann::json;

namespace {

/// 4,000 visits of 1,000 persons. Each ward but one has many; "attic" has one, and one person is 107 years old.
struct counted_visits {
    counted_visits() {
        std::string rows = "patient_id,ward,age,weight,day,note\n";
        for (int i = 0; i < 4000; ++i)
            rows += fmt::format("{},{},{},{:.1f},{:02}.0{}.2023,fine\n", i % 1000,
                                i == 77 ? "attic"
                                : i % 3 ? "east"
                                        : "west",
                                i == 78 ? 107 : 20 + i % 60, 50 + i % 300 / 10.0, 1 + i % 28, 1 + i % 6);
        table = scratch.write("visits.csv", rows);
        scratch.write(
            "t.json",
            json{{"person", "patient_id"}, {"columns", {{"note", {{"clause", "Said: {value} (end)"}}}}}}.dump());
    }
    answer says(const std::string& arguments) const { return rldp_says(arguments, scratch.path()); }
    answer discover(const std::string& more, const std::string& epsilon = "4") const {
        return says("discover " + table + " --epsilon " + epsilon + " " + more);
    }
    std::string at(const std::string& name) const { return scratch / name; }
    scratch_directory scratch;
    std::string table;
};

const std::string all_types = " --type ward=category --type age=integer --type weight=number --type day=date:%d.%m.%Y";

}  // namespace

TEST_CASE("domains are found under a price, written into the template, and stand in the book of runs") {
    const counted_visits of;
    const auto model = std::filesystem::absolute("config/tiny-gpt2").string();
    const auto made = of.discover("--template " + of.at("t.json") + all_types);
    INFO(made.err);
    REQUIRE(made.status == 0);
    const auto written = json::parse(rldp::read_file(of.at("t.json")));
    CHECK(written["person"] == "patient_id");
    CHECK(written["columns"]["note"]["clause"] == "Said: {value} (end)");
    const auto& schema = written["schema"];
    REQUIRE(schema.size() == 5);
    CHECK(schema[0] == json{{"column", "ward"}, {"category", {"east", "west"}}});  // and no attic
    CHECK(schema[1]["column"] == "age");
    CHECK(schema[1]["integer"][0].get<int>() >= 20);
    CHECK(schema[1]["integer"][1].get<int>() <= 99);
    CHECK(schema[2]["step"] == 0.1);
    CHECK(schema[2]["number"][1].get<double>() <= 79.9);
    CHECK(schema[3]["date"] == json{"2023-01-01", "2023-06-30"});
    CHECK(schema[3]["format"] == "%d.%m.%Y");
    CHECK(schema[4] == json{{"column", "note"}});
    CHECK_FALSE(has(made.out, "public.path"));
    CHECK(has(made.out, R"("category":["east","west"])"));
    CHECK(has(made.out, "spent: ε 4 at δ 1e-06, for each patient_id of the whole table"));
    CHECK(has(made.out, "with this: ε 4 at δ 1e-06 of 1 entry for each patient_id"));
    for (const auto* secret : {"attic", "107"}) CHECK_FALSE(has(made.out + made.err, secret));

    // A run on that table finds the same book by its name and its units, and its unit adds up.
    of.scratch.write("c.json", json{{"privacy", {{"epsilon", 2}, {"delta", 1e-4}, {"unit", {{"group", "patient_id"}}}}},
                                    {"data", {{"path", "visits.csv"}, {"template", "t.json"}, {"max_tokens", 48}}},
                                    {"model", {{"path", model}}},
                                    {"method", {{"name", "static"}}},
                                    {"train", {{"steps", 2}, {"expected_batch_size", 8}, {"eval_records", 2}}}}
                                   .dump());
    const auto run = of.says("run " + of.at("c.json") + " --quiet --out " + of.at("run"));
    INFO(run.err);
    REQUIRE(run.status == 0);
    const auto book = json::parse(of.says("book visits --json").out);
    REQUIRE(book["runs"].size() == 2);
    REQUIRE(book["sums"].size() == 1);
    CHECK(book["sums"][0]["epsilon_basic"].get<double>() == Approx(6).epsilon(1e-3));
    CHECK(book["sums"][0]["epsilon_pld"].get<double>() < 5);
    CHECK(has(of.says("book visits").out, "domains for " + of.at("t.json")));
    const auto published = json::parse(rldp::read_file(of.at("run/public/template.json")));
    CHECK(published["schema"][0]["category"] == json{"east", "west"});
    CHECK(
        has(of.discover("--template " + of.at("t.json") + " --type ward=category").err, "declares its domain already"));
}

TEST_CASE("nothing is released that the book does not have") {
    const counted_visits of;
    REQUIRE(of.says("book visits --total-epsilon 1 --total-delta 1e-4 --unit patient_id").status == 0);
    const auto before = rldp::read_file(of.at("t.json"));
    const auto refused = of.discover("--template " + of.at("t.json") + all_types);
    CHECK(refused.status == 2);
    CHECK(has(refused.err, "1 run comes to ε = 4 (added up), and the total is 1"));
    CHECK(refused.out.empty());
    CHECK(rldp::read_file(of.at("t.json")) == before);
    CHECK(has(of.says("book visits").out, "total allowed"));
    std::filesystem::remove_all(of.at("books"));
    of.scratch.write("books", "a file");
    const auto unwritable = of.discover("--template " + of.at("t.json") + all_types);
    CHECK(unwritable.status == 2);
    CHECK(unwritable.out.empty());
    CHECK(rldp::read_file(of.at("t.json")) == before);
}

TEST_CASE("too little ε finds nothing, which is said, charged and not written") {
    const counted_visits of;
    const auto dry = of.discover("--record --type ward=category --dry-run --out " + of.at("s.json"), "0.001");
    CHECK(dry.status == 0);
    CHECK(has(dry.out, "nothing was read but the columns' names, and nothing charged"));
    CHECK(has(dry.out, "about so many units make a value known"));
    CHECK_FALSE(std::filesystem::exists(of.at("books")));
    const auto poor = of.discover("--record --type ward=category --type age=integer --out " + of.at("s.json"), "0.001");
    CHECK(poor.status == 0);
    CHECK(has(poor.out, "nothing stands out of the noise"));
    CHECK(has(poor.out, "ε 0.001 at δ 1e-06 of 1 entry for each record"));
    CHECK_FALSE(std::filesystem::exists(of.at("s.json")));
    const auto rich = of.discover("--record --type ward=category --book none --out " + of.at("s.json"));
    CHECK(rich.status == 0);
    CHECK(has(rich.out, "nobody adds this up"));
    CHECK(json::parse(rldp::read_file(of.at("s.json")))["schema"].size() == 6);
    std::string lines;
    for (int i = 0; i < 2000; ++i)
        lines += fmt::format("{{\"sex\": \"{}\", \"kg\": {}}}\n", i % 2 ? "f" : "m", 50 + i % 10);
    of.scratch.write("rows.jsonl", lines);
    const auto json_lines = of.says("discover " + of.at("rows.jsonl") +
                                    " --epsilon 4 --type sex=category --type kg=integer --out " + of.at("j.json"));
    INFO(json_lines.err);
    CHECK(json_lines.status == 0);
    CHECK(has(json_lines.out, "--set public.path=template:2000 --set public.steps=64"));
    CHECK(json::parse(rldp::read_file(of.at("j.json")))["schema"] ==
          json{{{"column", "sex"}, {"category", {"f", "m"}}}, {{"column", "kg"}, {"integer", {50, 59}}}});
}

TEST_CASE("what discover can't do it says in a line, and leaves nothing behind") {
    const counted_visits of;
    const auto at = " --template " + of.at("t.json");
    for (const auto& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
             {at + " --type town=category", "no such column; there are patient_id, ward"},
             {at + " --type patient_id=category", "does not tell that column"},
             {at + " --type ward=category --type ward=integer", "has a type already"},
             {at + " --type ward=text:5", "kinds whose domain is found"},
             {at + " --type ward=category --person name", "--person name: no such column"},
             {at + " --type ward=category --person patient_id --record", "give one of them"},
             {at + " --type ward=category --rows-per-person 0", "--rows-per-person"},
             {at + " --type ward=category --delta 0", "delta"},
             {at + " --type ward=category --book 'a b'", "--book a b: a name has letters"},
             {at + " --type ward=category --out " + of.table, "exists already"},
             {at + " --type ward=category --out " + of.at("nowhere/s.json"), "no such directory"},
             {" --type ward=category", "where to?"},
             {" --type ward=category --out " + of.at("s.json"), "whose is a record?"},
             {" --template " + of.table + " --type ward=category", "visits.csv"}}) {
        const auto said = of.discover(arguments);
        INFO(arguments << ": " << said.err);
        CHECK(said.status != 0);
        CHECK(has(said.err, why));
        CHECK(said.out.empty());
    }
    CHECK(has(of.discover(at + " --type ward=category", "0").err, "ε is 0; give a finite number above 0"));
    CHECK(has(of.discover(at + " --type ward=category", "nan").err, "is no finite number"));
    CHECK(has(of.says("discover " + of.at("t.json") + " --epsilon 1 --type a=category" + at).err, "t.json"));
    of.scratch.write("notes.txt", "a\nb\n");
    CHECK(has(of.says("discover " + of.at("notes.txt") + " --epsilon 1 --type a=category" + at).err,
              "plain text has no columns"));
    of.scratch.write("holes.csv", "patient_id,ward\n1,east\n,west\n");
    CHECK(has(of.says("discover " + of.at("holes.csv") +
                      " --epsilon 1 --type ward=category --person patient_id --out " + of.at("h.json"))
                  .err,
              "holes.csv:3: the key \"patient_id\" is missing"));
    CHECK_FALSE(std::filesystem::exists(of.at("books")));
}
