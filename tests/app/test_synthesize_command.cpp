// rldp synthesize: from a table to a made-up one, as somebody who has the public side alone.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace {

/// The run in scratch/run, with its trusted side.
void judge_as_owner(const scratch_directory& scratch, const std::function<answer(const std::string&)>& says,
                    const std::string& model) {
    const auto at = [&](const std::string& name) { return (scratch / name).string(); };
    const auto synthesize = "synthesize " + at("run") + " --rows 40 --model " + model + " --out ";
    const auto page = scratch / "run/trusted/synthetic.html";
    const auto without = says(synthesize + at("quiet.csv") + " --no-report");
    CHECK(without.status == 0);
    CHECK_FALSE(has(without.out, "report"));
    const auto part = says(synthesize + at("part.csv") + " --where sex=f");
    CHECK(has(part.out, "no report: --where makes a part of the table"));
    CHECK_FALSE(std::filesystem::exists(page));

    auto how = nlohmann::json::parse(rldp::read_file(at("c.template.json")));
    how["schema"][2] = {{"column", "outcome"}, {"category", {"well", "ill"}}};
    how["target"] = "sex";
    how["sensitive"] = {"outcome"};
    how["rules"] = {{{"if", {{"sex", "f"}}}, {"then", {{"age", 20}}}}};
    rldp::write_file(at("c.template.json"), how.dump());
    const auto made = says(synthesize + at("own.csv"));
    INFO(made.err);
    REQUIRE(made.status == 0);
    CHECK(has(made.out, "PRIVATE, for the data's owner"));
    CHECK(has(made.out, "AUC"));
    REQUIRE(std::filesystem::exists(page));
    CHECK(std::filesystem::status(page).permissions() == std::filesystem::perms(0600));
    CHECK(rldp::read_file(at("own.csv")) == rldp::read_file(at("quiet.csv")));

    const auto judge = [&](const std::string& table) { return says("judge " + at("run") + " " + table); };
    // 400 records, of which the run held some out: a table of all of them has every one.
    std::string copies = "outcome,sex,age\n";
    for (int i = 0; i < 400; ++i)
        copies += fmt::format("{},{},{}\n", i % 3 ? "well" : "ill", i % 2 ? "f" : "m", 20 + i % 60);
    const auto all = says("judge " + at("run") + " " + scratch.write("copies.csv", copies) + " --json");
    INFO(all.err);
    REQUIRE(all.status == 0);
    const auto found = nlohmann::json::parse(all.out);
    CHECK(found["rows"]["training"].get<int>() + found["rows"]["held_out"].get<int>() == 400);
    CHECK(found["rows"]["training"] > 200);
    const auto& same = found["privacy"]["identical"];
    CHECK(same["training"]["found"] == found["rows"]["training"]);
    CHECK(same["held_out"]["found"] == found["rows"]["held_out"]);
    CHECK(found["privacy"]["membership"]["attack"]["auc"] == 0.5);
    CHECK(found["quality"]["rules"][0]["real"]["broken"] > 0);
    CHECK(found["quality"]["columns"][0]["total_variation"]["made_up"] < 0.2);

    CHECK(has(judge(scratch.write("less.csv", "sex,age\nf,20\n")).err, "has no column \"outcome\""));
    CHECK(has(judge(scratch.write("more.csv", "sex,age,outcome,x\nf,20,ill,1\n")).err,
              "\"x\" is not in the run's schema"));
    CHECK(has(judge(scratch.write("none.csv", "sex,age,outcome\n")).err, "has no rows"));
    how["target"] = "visit";
    rldp::write_file(at("c.template.json"), how.dump());
    CHECK(has(judge(at("copies.csv")).err, "target: \"visit\" is no column of the schema"));
    // A report that nobody asked for is not worth the table.
    const auto vain = says(synthesize + at("vain2.csv"));
    CHECK(vain.status == 0);
    CHECK(has(vain.out, "no report:"));
    CHECK(says(synthesize + at("vain3.csv") + " --report").status == 2);
}

/// Where nobody can be asked it says so and goes on; what is there then waits.
void says_what_days_take(const scratch_directory& scratch, const std::string& command) {
    const auto at = [&](const std::string& name) { return (scratch / name).string(); };
    for (const std::string rows : {"0", "-1", "100000000001", "99999999999999999999", "many"}) {
        const auto refused = rldp_says(command + at("none.csv") + " --rows " + rows, scratch.path());
        CAPTURE(rows, refused.err);
        CHECK(refused.status == 2);
        CHECK(has(refused.err, "--rows"));
        CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
    }
    const auto script =
        scratch.write("days.sh", fmt::format("cd '{}' && mkfifo said || exit\n"
                                             "timeout 600 {} {} --rows 1000000000 2> said & pid=$!\n"
                                             "while read -r line; do echo \"$line\" >> heard\n"
                                             "case $line in *take*) kill -TERM $pid;; esac\n"
                                             "done < said\nwait $pid",
                                             scratch.path().string(), RLDP_PROGRAM, command + "days.csv"));
    const int status = std::system(("sh " + script + " > " + at("days.out")).c_str());
    CHECK(WEXITSTATUS(status) == 130);
    const auto heard = rldp::read_file(at("heard"));
    CHECK(has(heard, "999999996 more rows take some "));
    CHECK(has(heard, " twice, in days.csv and until that is whole beside it; "));
    CHECK(has(rldp::read_file(at("days.out")), "they wait in days.csv.partial. The same call with --resume goes on"));
    CHECK_FALSE(std::filesystem::exists(at("days.csv")));
}

}  // namespace

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
    CHECK(has(asked.out, "--type 'outcome=category:…'  2 values"));  // under PRIVATE, and nowhere else
    CHECK_FALSE(has(asked.out, "--type age=integer:20"));
    CHECK(has(says(begin + " --population 280 --type sex=text:5").err, "the column has a type already"));
    CHECK(has(says(begin + " --population 280 --type visit_id=text:5").err,
              "--keep-identifier visit_id tells it all the same"));
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
    judge_as_owner(scratch, says, model);
    std::filesystem::remove_all(scratch / "run/trusted");
    const auto synthesize = "synthesize " + at("run") + " --rows 30 --seed 4 --out ";
    CHECK(has(says(synthesize + at("t.csv")).err, "its base is called tiny-gpt2; say where it lies with --model"));
    const auto first = says(synthesize + at("t.csv") + " --model " + model + " --where sex=f --threads 1");
    INFO(first.err);
    REQUIRE(first.status == 0);
    CHECK(has(first.out, "30 rows"));
    CHECK(has(first.out, "no report: "));
    CHECK(has(says(synthesize + at("t2.csv") + " --model " + model + " --report").err, "trusted/ is not here"));
    CHECK(has(says("judge " + at("run") + " " + at("t.csv")).err, "it is for the owner of the data"));
    const auto written = rldp::read_file(at("t.csv"));
    CHECK(written.starts_with("sex,age,outcome\nf,"));
    CHECK(std::count(written.begin(), written.end(), '\n') == 31);
    const auto second = says(synthesize + at("u.csv") + " --model " + model + " --where sex=f --threads 2 --json");
    REQUIRE(second.status == 0);
    CHECK(nlohmann::json::parse(second.out)["rows"] == 30);
    CHECK(rldp::read_file(at("u.csv")) == written);
    CHECK(has(says(synthesize + at("t.csv") + " --model " + model).err, "exists already"));
    says_what_days_take(scratch, "synthesize " + at("run") + " --model " + model + " --batch 2 --threads 1 --out ");
    CHECK(has(says(synthesize + at("v.csv") + " --model " + model + " --where sex").err, "write COLUMN=VALUE"));
    // Rows with empty cells are filled.
    scratch.write("part.csv", "outcome,sex\n,f\nwell,\n");
    const auto fill = "synthesize " + at("run") + " --model " + model + " --like " + at("part.csv") + " --out ";
    const auto filled = says(fill + at("f.csv"));
    INFO(filled.err);
    REQUIRE(filled.status == 0);
    CHECK(has(filled.out, "It is as private as " + at("part.csv")));
    const auto cells = rldp::read_file(at("f.csv"));
    CHECK(cells.starts_with("sex,age,outcome\nf,"));
    CHECK(cells.ends_with(",well\n"));
    CHECK(has(says(fill + at("g.csv") + " --rows 3").err, "--rows"));
    CHECK(has(says(fill + at("g.csv") + " --dashboard 8787").err, "--like has cells of your own"));
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

TEST_CASE("a table is not judged by records of which none was held out") {
    const scratch_directory scratch;
    const std::string model = std::filesystem::absolute("config/tiny-gpt2");
    const auto says = [&](const std::string& arguments) { return rldp_says(arguments, scratch.path()); };
    const auto at = [&](const std::string& name) { return (scratch / name).string(); };
    scratch.write("visits.csv", "sex,age\nf,20\nm,30\nf,40\n");
    scratch.write("t.json", R"({"opening": "A visit.", "clause": "{label}: {value}.", "schema": [
        {"column": "sex", "category": ["f", "m"]}, {"column": "age", "integer": [0, 120]}]})");
    // Of that seed all three are trained on.
    scratch.write("c.json",
                  nlohmann::json{{"privacy", {{"epsilon", 8}, {"delta", 1e-4}, {"population", 280}}},
                                 {"data", {{"path", "visits.csv"}, {"template", "t.json"}, {"split_seed", 3}}},
                                 {"method", {{"name", "static"}}},
                                 {"train", {{"steps", 2}, {"expected_batch_size", 8}}},
                                 {"model", {{"path", model}}}}
                      .dump());
    const auto run = says("run " + at("c.json") + " --quiet --out " + at("run"));
    INFO(run.err);
    REQUIRE(run.status == 0);
    const std::string why = "visits.csv: no record was held out, so nothing tells what the table gives away";
    const auto made = says("synthesize " + at("run") + " --model " + model + " --rows 10 --out " + at("m.csv"));
    CHECK(made.status == 0);
    CHECK(has(made.out, "no report: "));
    CHECK(has(made.out, why));
    const auto judged = says("judge " + at("run") + " " + at("m.csv"));
    CHECK(judged.status == 2);
    CHECK(has(judged.err, why));
    CHECK(std::count(judged.err.begin(), judged.err.end(), '\n') == 1);
    for (const std::string file : {"synthetic.html", "synthetic.json"})
        CHECK_FALSE(std::filesystem::exists(scratch / "run/trusted" / file));
}
