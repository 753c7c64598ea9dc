// rldp init and rldp preview: from a file to a run, as a stranger goes.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using nlohmann::json;

namespace {

struct stranger {
    scratch_directory scratch;
    const std::string model = std::filesystem::absolute("config/tiny-gpt2");
    std::string at(const std::string& name) const { return scratch / name; }
    answer says(const std::string& arguments) const { return rldp_says(arguments, scratch.path()); }
    answer init(const std::string& data, const std::string& more = "") const {
        return says("init " + at(data) + " --model " + model + " --out " + at("mine.json") + " " + more);
    }
    json config() const { return json::parse(rldp::read_file(at("mine.json"))); }
};

std::string visits() {
    std::string out = "visit_id;patient;age;outcome\n";
    for (int i = 0; i < 900; ++i) out += fmt::format("{};P{};{};{}\n", i, i % 300, 20 + i % 60, i % 2 ? "well" : "ill");
    return out;
}

}  // namespace

TEST_CASE("conversations are learned in the model's chat template, and answered in it") {
    const stranger c;
    const auto talker = c.at("talker");
    std::filesystem::copy(c.model, talker, std::filesystem::copy_options::recursive);
    std::string lines;
    for (int i = 0; i < 300; ++i)
        lines += fmt::format(R"({{"messages": [{{"role": "user", "content": "And {0}?"}}, )"
                             R"({{"role": "assistant", "content": "It is {0}."}}]}})"
                             "\n",
                             i);
    c.scratch.write("talks.jsonl", lines);
    const auto begin =
        "init " + c.at("talks.jsonl") + " --model " + talker + " --population 210 --out " + c.at("mine.json");
    CHECK(has(c.says(begin).err, "has no chat template"));
    c.scratch.write("talker/chat_template.jinja",
                    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}"
                    "{% if add_generation_prompt %}<|assistant|>{% endif %}");
    const auto made = c.says(begin);
    INFO(made.err);
    REQUIRE(made.status == 0);
    CHECK(has(made.out, "JSON lines with a conversation each"));
    CHECK(c.config()["data"]["chat"] == true);
    const auto seen = c.says("preview " + c.at("mine.json") + " -n 1");
    CHECK(has(seen.out, "<|user|>And 0?\n<|assistant|>⟦It is 0.\n⟧"));
    CHECK(has(seen.out, "of them are answers"));
    const auto run = c.says("run " + c.at("mine.json") + " --out " + c.at("run") +
                            " --quiet --set train.steps=4 --set train.eval_every=4");
    INFO(run.err);
    REQUIRE(run.status == 0);
    const auto summary = json::parse(rldp::read_file(c.at("run/public/summary.json")));
    CHECK_FALSE(summary.contains("value_nats_after"));  // its perplexity is of answers alone
    CHECK(summary["perplexity_after_in"].at(1).get<double>() > 0);
    CHECK_FALSE(summary.contains("template_perplexity"));
    const auto asked = c.says("generate " + talker + " --adapter " + c.at("run/public/adapter") +
                              " --chat --system Be. --prompt 'And 7?' --max-new-tokens 3 --json");
    INFO(asked.err);
    CHECK(json::parse(asked.out)["prompt"] == "<|system|>Be.\n<|user|>And 7?\n<|assistant|>");
    CHECK(has(c.says("generate " + c.model + " --chat --prompt a").err, "has no chat template"));
    CHECK(has(c.says("generate " + talker + " --system a --prompt a").err, "give --chat too"));
}

TEST_CASE("init asks what only the owner can say, writes what runs once it is said, and shows no value") {
    const stranger c;
    c.scratch.write("visits.csv", visits());
    const auto asked = c.init("visits.csv");
    CHECK(asked.status == 2);
    CHECK(has(asked.out, "fields end at semicolons"));
    CHECK(has(asked.out, "PRIVATE, for the data's owner"));
    CHECK(has(asked.out, "900; 300 units to protect"));
    CHECK(has(asked.out, "Whose is a record? By their names, visit_id, patient may say it."));
    CHECK(has(asked.out, "How many units train? --population N"));
    CHECK(has(asked.out, "95 of 100 have no more, in whole 32s within the model's window; none of these is cut"));
    CHECK(has(asked.out, "outcome has a few values; with --target outcome --max-tokens 64 a run ends with"));
    CHECK(has(asked.out, "    --type age=integer:20:80     whole numbers from 20 to 79\n"));
    CHECK(has(asked.out, "    --type 'outcome=category:…'  2 values\n"));
    CHECK(has(asked.out, " --person patient --population 210 --max-tokens 32 --out "));
    CHECK_FALSE(has(asked.out, "there already"));
    CHECK_FALSE(std::filesystem::exists(c.at("mine.json")));
    CHECK_FALSE(std::filesystem::exists(c.at("mine.template.json")));
    const auto told = json::parse(c.init("visits.csv", "--json").out);
    CHECK(told["open"] == json{"person", "population"});
    CHECK(told["config"] == nullptr);
    CHECK(told["private"]["population"] == 210);
    CHECK(told["columns"][1]["name"] == "patient");
    const auto half = c.init("visits.csv", "--person patient");
    CHECK(half.status == 2);
    CHECK_FALSE(has(half.out, "Whose is a record?"));

    const auto made = c.init("visits.csv", "--person patient --population 210 --max-tokens 32 --target outcome");
    INFO(made.err);
    REQUIRE(made.status == 0);
    for (const auto& said : {asked.out, made.out}) {
        CHECK_FALSE(has(said, "P17"));
        CHECK_FALSE(has(said, "well"));
    }
    const auto config = c.config();
    CHECK(config["privacy"]["unit"]["group"] == "patient");
    CHECK(config["privacy"]["population"] == 210);
    CHECK(config["privacy"]["delta"] == 1e-4);
    CHECK(config["data"]["max_tokens"] == 32);
    CHECK(config["eval"]["target"] == "outcome");
    CHECK(config["privacy"]["book"] == "visits");

    const auto seen = c.says("preview " + c.at("mine.json") + " -n 1");
    CHECK(has(seen.out, "A record of visits. age: ⟦20⟧. outcome: ⟦ill⟧ (end)"));
    CHECK(has(seen.out, "0 of them are cut"));
    const auto cut = json::parse(
        c.says("preview " + c.at("mine.json") + " -n 1 --json --set data.max_tokens=8 --set eval.target=null").out);
    CHECK(cut["cut"] == 900);
    CHECK(cut["records"][0]["cut"] == true);
    CHECK(cut["records"][0]["kept"][1].get<int>() < 40);

    const auto run = c.says("run " + c.at("mine.json") + " --quiet --set train.epochs=null --set train.steps=2 --out " +
                            c.at("run"));
    INFO(run.err);
    CHECK(run.status == 0);
    CHECK(std::filesystem::exists(c.at("books/visits/book.jsonl")));
}

TEST_CASE("where nothing would be written nothing is in the way, and no file is left") {
    const stranger c;
    c.scratch.write("visits.csv", visits());
    c.scratch.write("mine.template.json", "mine");
    std::filesystem::create_directory(c.at("passing"));
    ::setenv("TMPDIR", c.at("passing").c_str(), 1);
    const auto asked = c.init("visits.csv", "--target outcome");
    ::unsetenv("TMPDIR");
    CHECK(asked.status == 2);
    CHECK(has(asked.out, "--max-tokens 64 --target outcome --out "));
    CHECK(has(asked.out, "mine.json or its template is there already: --out names another, --force overwrites it."));
    CHECK(rldp::read_file(c.at("mine.template.json")) == "mine");
    CHECK(std::filesystem::is_empty(c.at("passing")));
    CHECK(has(c.init("visits.csv", "--record --population 600").err, "mine.template.json: exists already"));
}

TEST_CASE("a file of JSON strings is one of texts") {
    const stranger c;
    std::string lines;
    for (int i = 0; i < 300; ++i) lines += fmt::format("\"seen on day {}\"\n", i);
    c.scratch.write("notes.jsonl", lines);
    const auto made = c.init("notes.jsonl", "--record --population 210 --max-tokens 32");
    INFO(made.err);
    REQUIRE(made.status == 0);
    CHECK(has(made.out, "JSON lines with a text each"));
    CHECK_FALSE(c.config()["data"].contains("template"));
    CHECK(has(c.says("preview " + c.at("mine.json") + " -n 1").out, "seen on day 0"));
}

TEST_CASE("the owner hears of values beyond the declared types, in bounded lines, and of time as units are") {
    const stranger c;
    std::string rows = "a,b,c,d,e,f,patient\n";
    for (int i = 0; i < 400; ++i) rows += fmt::format("1,1,1,1,1,{},{}\n", i % 4 == 0 ? 9 : 1, i % 300);
    c.scratch.write("visits.csv", rows);
    std::string said = "--person patient --population 210";
    for (const char name : {'a', 'b', 'c', 'd', 'e', 'f'}) said += fmt::format(" --type {}=category:x,9", name);
    const auto made = c.init("visits.csv", said);
    INFO(made.err);
    REQUIRE(made.status == 0);
    CHECK(has(made.out, "  PRIVATE: a                       400 of 400 values don't fit: one of 2 values\n"));
    CHECK(has(made.out, "  PRIVATE: 1 more                  likewise\n"));
    CHECK_FALSE(has(made.out, "300 of 400"));
    CHECK(has(made.out, " for a unit of 16 records of 256 tokens, some "));
    CHECK(has(made.out, "  PRIVATE: time here      about "));
    const auto told = json::parse(c.init("visits.csv", "--force --json " + said).out);
    CHECK(told["private"]["beyond_type"][5] == json{{"column", "f"}, {"values", 400}, {"beyond", 300}});
    // What is left falls as ε grows, however many bands it takes.
    double before = 1e9;
    for (const auto& one : told["budgets"]) {
        const auto added = one["noise_left"].get<double>(), alone = one["noise_multiplier"].get<double>();
        CHECK(added < before);
        CHECK((one["bands"] == 1 ? added == alone : added < alone));
        before = added;
    }
    CHECK_FALSE(has(c.init("visits.csv", "--force --person patient --population 210 --type a=category:1").out,
                    "values beyond"));
}

TEST_CASE("made-up rows teach the form where the owner has said of each column what it may hold") {
    const stranger c;
    c.scratch.write("visits.csv", visits());
    const std::string said = "--force --person patient --population 210 --max-tokens 32 ";
    const auto part = c.init("visits.csv", said + "--type age=integer:0:120");
    REQUIRE(part.status == 0);
    CHECK_FALSE(c.config().contains("public"));
    CHECK(has(part.out, "nothing; where --type says of each column what it may hold"));
    // Free text says nothing of its values.
    REQUIRE(c.init("visits.csv", said + "--type age=text:3 --type outcome=text:9").status == 0);
    CHECK_FALSE(c.config().contains("public"));
    const auto whole = c.init("visits.csv", said + "--type age=integer:0:120 --type outcome=category:well,ill");
    INFO(whole.err);
    REQUIRE(whole.status == 0);
    CHECK(c.config()["public"] == json{{"path", "template:2000"}, {"steps", 64}});
    CHECK(has(whole.out, "template:2000: rows made up of the declared types teach how one is told, for no ε"));
    // Another public path wins.
    const auto plan = c.says("check " + c.at("mine.json") + " --set public.path=template:20");
    CHECK(plan.status == 0);
    const auto run = c.says("run " + c.at("mine.json") +
                            " --quiet --set public.path=template:20 --set public.steps=2 --set train.epochs=null --set "
                            "train.steps=2 --out " +
                            c.at("run"));
    INFO(run.err);
    REQUIRE(run.status == 0);
    CHECK(json::parse(rldp::read_file(c.at("run/public/config.json")))["public"]["path"] == "template:20");
}

TEST_CASE("init overwrites nothing, and leaves nothing where it fails", "[full]") {
    const stranger c;
    c.scratch.write("visits.csv", visits());
    const std::string said = "--record --population 600";
    REQUIRE(c.init("visits.csv", said).status == 0);
    const auto before = rldp::read_file(c.at("mine.json"));
    const auto again = c.init("visits.csv", said);
    CHECK(again.status == 2);
    CHECK(has(again.err, "mine.template.json: exists already"));
    CHECK(rldp::read_file(c.at("mine.json")) == before);
    // With leave it does, and brings back what was there where it fails.
    CHECK(c.init("visits.csv", "--force --record --population 600").status == 0);
    CHECK(c.config()["privacy"]["unit"] == "record");
    c.scratch.write("mine.json", "mine");
    CHECK(c.says("init " + c.at("visits.csv") + " --force " + said + " --model " + c.at("none") + " --out " +
                 c.at("mine.json"))
              .status == 2);
    CHECK(rldp::read_file(c.at("mine.json")) == "mine");

    const stranger d;
    d.scratch.write("few.txt", "one\ntwo\n");
    CHECK(has(d.init("few.txt").err, "fewer than 100 units"));
    d.scratch.write("visits.csv", visits());
    CHECK(has(d.says("init " + d.at("visits.csv") + " --model " + d.at("none") + " --out " + d.at("mine.json")).err,
              d.at("none")));
    CHECK(has(d.init("visits.csv", "--person patient --record").err, "give one of them"));
    CHECK(has(d.init("visits.csv", "--person who").err, "--person who: no such column"));
    CHECK(has(d.init("visits.csv", "--epsilon 0").err, "--epsilon"));
    CHECK(has(d.init(".").err, "is a directory"));
    CHECK_FALSE(std::filesystem::exists(d.at("mine.json")));
    CHECK_FALSE(std::filesystem::exists(d.at("mine.template.json")));
}

TEST_CASE("an identifier is told only where its owner says so, and whoever runs such a table hears of it") {
    const stranger c;
    c.scratch.write("visits.csv", visits());
    const auto kept = c.init("visits.csv", "--record --population 600 --keep-identifier visit_id");
    REQUIRE(kept.status == 0);
    CHECK(has(kept.out, "warning: visit_id is told as it is. A model can learn it by heart"));
    const auto plan = c.says("check " + c.at("mine.json"));
    CHECK(has(plan.out, "by its name, column \"patient\" says whose a record is"));
    CHECK(has(plan.out, "column \"visit_id\" is told, and by its name it identifies"));
    REQUIRE(c.init("visits.csv", "--force --person patient --population 210").status == 0);
    CHECK_FALSE(has(c.says("check " + c.at("mine.json")).out, "by its name"));
}
