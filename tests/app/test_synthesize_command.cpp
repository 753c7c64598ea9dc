// rldp synthesize: from a table to a made-up one, as somebody who has the public side alone.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_CASE("a table becomes a made-up one, and nothing under trusted/ is read") {
    const scratch_directory scratch;
    const std::string model = std::filesystem::absolute("config/tiny-gpt2");
    std::string rows = "visit_id,sex,age,outcome\n";
    for (int i = 0; i < 400; ++i)
        rows += fmt::format("{},{},{},{}\n", i, i % 2 ? "f" : "m", 20 + i % 60, i % 3 ? "well" : "ill");
    const auto table = scratch.write("visits.csv", rows);
    const auto says = [&](const std::string& arguments) { return rldp_says(arguments, scratch.path()); };
    const auto at = [&](const std::string& name) { return (scratch / name).string(); };
    const auto begin = "init " + table + " --model " + model + " --record --out " + at("c.json") +
                       " --type sex=category:f,m,x --type age=integer:0:120";
    const auto asked = says(begin);
    CHECK(has(asked.out, "outcome: 2 values"));  // under PRIVATE, and nowhere else
    CHECK_FALSE(has(asked.out, "age: whole numbers"));
    CHECK(has(says(begin + " --population 280 --type sex=text:5").err, "the column has a type already"));
    CHECK(has(says(begin + " --population 280 --type visit_id=text:5").err, "no column of that name is told"));
    CHECK(has(says(begin + " --population 280 --type outcome=text").err, "write COLUMN=KIND:WHAT"));
    CHECK(has(says(begin + " --population 280 --type outcome=code:A*").err, "has *"));
    const auto made = says(begin + " --population 280 --max-tokens 64");
    INFO(made.err);
    REQUIRE(made.status == 0);
    const auto schema = nlohmann::json::parse(rldp::read_file(at("c.template.json")))["schema"];
    CHECK(schema.size() == 3);
    CHECK(schema[0] == nlohmann::json{{"column", "sex"}, {"category", {"f", "m", "x"}}});
    CHECK(schema[2] == nlohmann::json{{"column", "outcome"}});

    // What no rows can be made by is warned of before anything is charged, and trains all the same.
    const auto own = rldp::read_file(at("c.template.json"));
    auto endless = nlohmann::json::parse(own);
    endless["columns"]["outcome"]["clause"] = "{label}: {value}.";
    rldp::write_file(at("c.template.json"), endless.dump());
    const auto steps = " --set train.steps=4 --set train.eval_every=4";
    for (const auto& command : {"check " + at("c.json"), "run " + at("c.json") + " --out " + at("vain") + steps}) {
        const auto warned = says(command);
        CHECK(warned.status == 0);
        CHECK(has(warned.out + warned.err, "rldp synthesize will make no table of this run"));
        CHECK(has(warned.out + warned.err, "no words tell where it ends"));
    }
    const auto vain = says("synthesize " + at("vain") + " --rows 3 --out " + at("vain.csv") + " --model " + model);
    CHECK(vain.status != 0);
    CHECK(has(vain.err, "no words tell where it ends"));
    rldp::write_file(at("c.template.json"), own);

    const auto run = says("run " + at("c.json") + " --out " + at("run") +
                          " --quiet --set train.steps=4 --set train.eval_every=4 --set public.path='\"template:64\"' "
                          "--set public.steps=4");
    INFO(run.err);
    REQUIRE(run.status == 0);
    std::filesystem::remove_all(scratch / "run/trusted");
    const auto synthesize = "synthesize " + at("run") + " --rows 30 --seed 4 --out ";
    CHECK(has(says(synthesize + at("t.csv")).err, "its base is called tiny-gpt2; say where it lies with --model"));
    const auto first = says(synthesize + at("t.csv") + " --model " + model + " --where sex=f --threads 1");
    INFO(first.err);
    REQUIRE(first.status == 0);
    CHECK(has(first.out, "30 rows"));
    const auto written = rldp::read_file(at("t.csv"));
    CHECK(written.starts_with("sex,age,outcome\nf,"));
    CHECK(std::count(written.begin(), written.end(), '\n') == 31);
    const auto second = says(synthesize + at("u.csv") + " --model " + model + " --where sex=f --threads 2 --json");
    REQUIRE(second.status == 0);
    CHECK(nlohmann::json::parse(second.out)["rows"] == 30);
    CHECK(rldp::read_file(at("u.csv")) == written);
    CHECK(has(says(synthesize + at("t.csv") + " --model " + model).err, "exists already"));
    CHECK(has(says(synthesize + at("v.csv") + " --model " + model + " --where sex").err, "write COLUMN=VALUE"));
    // Rows with empty cells are filled.
    scratch.write("part.csv", "outcome,sex\n,f\nwell,\n");
    const auto fill = "synthesize " + at("run") + " --model " + model + " --like " + at("part.csv") + " --out ";
    const auto filled = says(fill + at("f.csv"));
    INFO(filled.err);
    REQUIRE(filled.status == 0);
    CHECK(has(filled.out, "It is as private as " + at("part.csv")));
    const auto rows = rldp::read_file(at("f.csv"));
    CHECK(rows.starts_with("sex,age,outcome\nf,"));
    CHECK(rows.ends_with(",well\n"));
    CHECK(has(says(fill + at("g.csv") + " --rows 3").err, "--rows"));
    scratch.write("part.csv", "age\n7\n007\n");
    CHECK(has(says(fill + at("g.csv")).err, "part.csv:3: age=007: must be integer from 0 to 120"));
    // From public/ alone, wherever it lies.
    std::filesystem::create_directory(scratch / "theirs");
    std::filesystem::rename(scratch / "run/public", scratch / "theirs/public");
    REQUIRE(says("synthesize " + at("theirs/public") + " --rows 30 --seed 4 --where sex=f --out " + at("w.csv") +
                 " --model " + model)
                .status == 0);
    CHECK(rldp::read_file(at("w.csv")) == written);
}
