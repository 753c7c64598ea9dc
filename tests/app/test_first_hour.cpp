// What people try in their first hour: paths of all kinds, the adapter that came out, what to do next.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using nlohmann::json;

namespace {

namespace fs = std::filesystem;

/// 300 sentences in a directory whose name is Latin-1, and a short plan on them.
struct first_hour {
    scratch_directory scratch;
    const fs::path odd = scratch / "M\xFCller";
    const std::string model = fs::absolute("config/tiny-gpt2");

    first_hour() {
        fs::create_directory(odd);
        std::string lines;
        for (int i = 0; i < 300; ++i) lines += fmt::format("The patient in bed {} was seen on day {}.\n", i, i % 7);
        rldp::write_file(odd / "notes.txt", lines);
        rldp::write_file(odd / "notes.json", json{{"privacy", {{"epsilon", 8}, {"delta", 1e-4}, {"population", 200}}},
                                                  {"method", {{"name", "static"}}},
                                                  {"train", {{"steps", 3}, {"expected_batch_size", 8}}},
                                                  {"data", {{"path", "notes.txt"}, {"max_tokens", 24}}},
                                                  {"eval", {{"looks", 1}}},
                                                  {"model", {{"path", model}}}}
                                                 .dump());
    }
    std::string at(const std::string& name) const { return scratch / name; }
    answer says(const std::string& arguments) const { return rldp_says(arguments, scratch.path()); }
    /// In that directory, after `first` there.
    answer says_there(const std::string& arguments, const std::string& first = "true") const {
        const auto script = scratch.write(
            "there.sh", "cd '" + odd.string() + "' && " + first + " || exit\n" RLDP_PROGRAM " " + arguments + "\n");
        const auto out = scratch / "stdout", err = scratch / "stderr";
        const int status = std::system(("sh " + script + " >" + out.string() + " 2>" + err.string()).c_str());
        return {WEXITSTATUS(status), rldp::read_file(out), rldp::read_file(err)};
    }
};

}  // namespace

TEST_CASE("a directory whose name is no UTF-8 is one like any other, and nothing public says where anything lies",
          "[full]") {
    const first_hour here;
    const auto made = here.says_there("run notes.json --quiet --out mine");
    INFO(made.err);
    REQUIRE(made.status == 0);
    CHECK(has(made.out, "\nnext: more steps: 3 are few"));
    for (const auto& each : fs::recursive_directory_iterator(here.odd / "mine/public")) {
        if (!each.is_regular_file() || each.path().extension() == ".safetensors") continue;
        INFO(each.path());
        const auto text = rldp::read_file(each.path());
        CHECK(rldp::is_utf8(text));
        CHECK_FALSE(has(text, here.scratch.path().string()));
        CHECK_FALSE(has(text, fs::path(here.model).parent_path().string()));
    }
    const auto config = json::parse(rldp::read_file(here.odd / "mine/public/config.json"));
    CHECK(config["data"]["path"] == "notes.txt");
    const auto adapter = json::parse(rldp::read_file(here.odd / "mine/public/adapter/adapter_config.json"));
    CHECK(adapter["base_model_name_or_path"] == "tiny-gpt2");
    for (const std::string command :
         {"verify mine --json", "ledger verify mine", "runs . --json", "advise mine --json", "audit mine --help",
          "check notes.json --json", "preview notes.json --json", "plan notes.json --json --examples 400"}) {
        const auto said = here.says_there(command);
        CAPTURE(command, said.err);
        CHECK(said.status == 0);
        CHECK(rldp::is_utf8(said.out));
        if (has(command, "--json")) CHECK_NOTHROW(json::parse(said.out));
    }
    // A run is repeated by its own configuration.
    CHECK(here.says_there("run mine/public/config.json --quiet --out again").status == 0);
    // What was cut goes on: its paths are the owner's still.
    REQUIRE(here.says_there("run notes.json --set train.steps=400 --out cut 2> said & pid=$!; "
                            "while read -r line; do case $line in *step*) kill -TERM $pid;; esac; done < said; "
                            "wait $pid; test $? -ne 0",
                            "mkfifo said")
                .status == 0);
    const auto resumed = here.says_there("run --resume cut --quiet");
    INFO(resumed.err);
    CHECK(resumed.status == 0);
    CHECK(here.says_there("audit mine --quiet").status == 0);
}

TEST_CASE("a path may begin at home wherever it stands, and one that no system can have is refused by its name") {
    const first_hour here;
    ::setenv("HOME", here.scratch.path().c_str(), 1);
    fs::copy(here.odd, here.scratch / "mine", fs::copy_options::recursive);
    const auto checked = here.says("check " + here.at("mine/notes.json") + " --set data.path=~/mine/notes.txt");
    CHECK(checked.status == 0);
    CHECK(here.says("run " + here.at("mine/notes.json") + " --quiet --out=~/kept").status == 0);
    CHECK(fs::exists(here.scratch / "kept/public/summary.json"));
    CHECK_FALSE(fs::exists("~"));
    const auto long_name = here.at(std::string(300, 'x'));
    for (const auto& command : {"run " + here.at("mine/notes.json") + " --out " + long_name, "verify " + long_name,
                                "check " + long_name, "advise " + long_name}) {
        const auto said = here.says(command);
        CAPTURE(command, said.err);
        CHECK(said.status == 2);
        CHECK(has(said.err, ": File name too long"));
        CHECK_FALSE(has(said.err, "filesystem error"));
    }
}

TEST_CASE("a warning that goes out names files, not places, and nobody needs a home to end a run") {
    const first_hour here;
    std::string rows = "patient_id,age\n";
    for (int i = 0; i < 300; ++i) rows += fmt::format("{},{}\n", i % 150, 20 + i % 60);
    rldp::write_file(here.odd / "visits.csv", rows);
    rldp::write_file(here.odd / "how.json", "{}");
    const auto made = here.says_there(
        "run notes.json --quiet --out mine --set data.path=visits.csv --set data.template=how.json --set "
        "privacy.book=none",
        "unset HOME RLDP_BOOKS XDG_DATA_HOME");
    INFO(made.err);
    REQUIRE(made.status == 0);
    const auto summary = json::parse(rldp::read_file(here.odd / "mine/public/summary.json"));
    const auto warnings = summary["warnings"].dump();
    CHECK(has(warnings, "\"visits.csv: by its name, column "));
    CHECK_FALSE(has(warnings, here.scratch.path().string()));
}

TEST_CASE("an adapter is answered by what it is and whose, and advice follows from what is public") {
    const first_hour here;
    const auto run = here.at("run");
    REQUIRE(here.says_there("run notes.json --quiet --out " + run).status == 0);
    CHECK(has(here.says("generate " + here.model + " --prompt x --adapter " + run).err,
              run + ": is a run; its adapter is " + run + "/public/adapter"));
    CHECK(has(here.says("merge " + here.model + " --out " + here.at("m") + " --adapter " + run + "/public").err,
              "its adapter is " + run + "/public/adapter"));
    REQUIRE(here.says("pretrain " + here.at("other") + " --width 32 --layers 1 --heads 2 --steps 1").status == 0);
    const auto foreign =
        here.says("merge " + here.at("other") + " --out " + here.at("m") + " --adapter " + run + "/public/adapter");
    CHECK(foreign.status == 2);
    CHECK(has(foreign.err, "(the adapter says that it is of tiny-gpt2, and was given with " + here.at("other") + ")"));
    CHECK_FALSE(fs::exists(here.at("m")));

    const auto next = here.says("advise " + run + "/public");
    CHECK(next.status == 0);
    CHECK(next.out.starts_with("next: more steps: 3 are few"));
    CHECK(has(rldp::read_file(run + "/public/report.html"), "Next: more steps: 3 are few"));
    CHECK(has(here.says("advise " + here.at("nothing")).err, "holds no run that has ended"));
}

TEST_CASE("check reads what a run will read, says how long it takes, and to its owner whether N fits") {
    const first_hour here;
    const auto file = (here.odd / "notes.json").string();
    const auto all = here.says("check '" + file + "' --private-counts --set privacy.population=40");
    CHECK(all.status == 0);
    CHECK(has(all.out, "time here, at most"));
    CHECK(has(all.out, "privacy.population says 40"));
    CHECK(has(all.out, "privacy.population 200 would fit") + has(all.out, "privacy.population 210 would fit") +
              has(all.out, "privacy.population 220 would fit") ==
          1);
    CHECK_FALSE(has(here.says("check '" + file + "' --private-counts").out, "would fit"));
    for (const std::string command : {"check", "plan --examples 4000"}) {
        const auto begin = fmt::format("{} '{}' --set ", command, file);
        CHECK(has(here.says(begin + "data.path=gone.csv").err, "gone.csv: no such file; --without-data plans from"));
        CHECK(has(here.says(begin + "data.template=gone.json").err, "gone.json: no such file"));
        CHECK(here.says(begin + "data.path=gone.csv --without-data").status == 0);
        CHECK(has(here.says(begin + "privacy.population=null --without-data").err, "declare privacy.population"));
    }
}

TEST_CASE("models says what can be read, where it comes from, and what is here") {
    const first_hour here;
    const auto said = here.says("models");
    CHECK(said.status == 0);
    for (const auto* part : {"gpt2", "gemma3_text", "hf download ", "config/tiny-gpt2", "can be fine-tuned"})
        CHECK(has(said.out, part));
    const auto all = json::parse(here.says("models --json").out);
    CHECK(all["here"][0]["name"] == "tiny-gpt2");
    CHECK(all["here"][0]["parameters"].get<int>() > 100'000);
    // The guide's table is the program's.
    const auto guide = rldp::read_file("docs/guide.md");
    for (const std::string kind : all["model_types"]) CHECK(has(guide, "| `" + kind + "` | "));
}
