// Files, overrides, paths, steps.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "config/config.hpp"
#include "tests/config/parsed.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

#include "tests/catch.hpp"

using namespace rldp;

TEST_CASE("a budget book is found by the data, unless it is named or stands beside the configuration already") {
    const scratch_directory at;
    const auto resolve_book = [&](const std::string& data, const std::vector<std::string>& set = {}) {
        const auto file = at.write("c.json", R"({"model": {"path": "m"}, "data": {"path": ")" + data + "\"}}");
        return config::load(file, set).privacy.book.value();
    };
    CHECK(resolve_book("/far/patients.csv") == "found");
    CHECK(resolve_book("/far/patients.csv", {"privacy.book=ward-3"}) == "ward-3");
    CHECK(resolve_book("synthetic:100") == "none");
    // As earlier versions made them.
    for (const auto* name : {"patients.book", "patients.2026.book", "named.book"}) {
        std::filesystem::create_directory(at / name);
        at.write(name + std::string("/book.key"), "a key");
    }
    CHECK(resolve_book("/far/patients.csv") == at / "patients.book");
    CHECK(resolve_book("patients.csv.gz") == at / "patients.book");
    CHECK(resolve_book("patients.csv", {"privacy.book=patients"}) == at / "patients.book");
    CHECK(resolve_book("patients.2026.jsonl.zst") == at / "patients.2026.book");
    CHECK(resolve_book("others.csv", {"privacy.book=named.book"}) == at / "named.book");
    CHECK(resolve_book("others.csv") == "found");
    CHECK(resolve_book("patients.csv", {"privacy.book=found"}) == "found");
    CHECK(resolve_book("patients.csv", {"privacy.book=none"}) == "none");
    CHECK(resolve_book("patients.csv", {"privacy.book=/own/place"}) == "/own/place");
    for (const auto* wrong : {"", "ward 3", ".hidden", "größe"})
        CHECK(has(refusal([&] { resolve_book("patients.csv", {"privacy.book=\"" + std::string(wrong) + "\""}); }),
                  "a name has letters"));
}

TEST_CASE("a path of Windows is called what it is, and rows through a pipe have no path") {
    for (const auto* path : {R"(C:\\data\\a.csv)", "d:/a.csv", R"(\\\\server\\share\\a.csv)"})
        CHECK(has(refusal([&] { parsed(std::string(R"({"data": {"path": ")") + path + "\"}}"); }),
                  "a path of Windows; RLDP runs on Linux"));
    CHECK(parsed(R"({"data": {"path": "-"}})").data.path == "-");
    CHECK(parsed(R"({"data": {"path": "./-"}})").data.path != "-");
    CHECK(parsed(R"({"data": {"path": "c:a.csv"}})").data.path.ends_with("/c:a.csv"));
}

TEST_CASE("a data file's name becomes that of a book") {
    CHECK(make_book_name("patients.2026") == "patients.2026");
    CHECK(make_book_name("our patients (new)") == "our-patients-new");
    CHECK(make_book_name("größe") == "gr-e");
    for (const auto* name : {"", "...", "none", "found", "日本", "-x-"}) CHECK(is_book_name(make_book_name(name)));
    CHECK(make_book_name("none") != no_book);
    CHECK(is_book_name(make_book_name(std::string(300, 'x'))));
}

TEST_CASE("values of a file reach their members, all others keep their defaults") {
    const auto c = parsed(R"({
        "privacy": {"epsilon": 2.5, "unit": {"group": "patient_nbr"}, "population": 1000},
        "noise": {"deck": {"ratio": 9}},
        "train": {"steps": 7, "lr": 1, "expected_batch_size": 1e2},
        "lora": {"targets": ["q", "k"]},
        "monitor": {"address": "127.0.0.1:4242"},
        "device": "cuda", "seed": 9223372036854774784})");
    CHECK(c.privacy.epsilon == 2.5);
    CHECK(c.privacy.unit == "patient_nbr");
    CHECK(c.privacy.unit_is_group);
    CHECK(c.privacy.population == 1000);
    CHECK(c.noise.deck.ratio == 9);
    CHECK(c.noise.deck.levels == 8);
    CHECK(c.train.steps == 7);
    CHECK(c.train.lr == 1);
    CHECK(c.train.expected_batch_size == 100);
    CHECK(c.lora.targets == std::vector<std::string>{"q", "k"});
    CHECK(c.monitor.address == "127.0.0.1:4242");
    CHECK(c.device == "cuda");
    CHECK(c.seed == 9223372036854774784);
    CHECK(c.privacy.delta == 1e-5);
    CHECK_FALSE(c.rl.interval);
    CHECK_FALSE(c.train.warmup);
}

TEST_CASE("unknown keys name the nearest known one") {
    CHECK(refused(R"({"train": {"epohcs": 3}})") == "test.json: train.epohcs: unknown key; did you mean train.epochs?");
    CHECK(refused(R"({"trian": {"epochs": 3}})") == "test.json: trian: unknown key; did you mean train?");
    CHECK(refused(R"({"noise": {"deck": {"level": 3}}})") ==
          "test.json: noise.deck.level: unknown key; did you mean noise.deck.levels?");
    CHECK(refused(R"({"epsilon": 3})") == "test.json: epsilon: unknown key; did you mean privacy.epsilon?");
    CHECK(refused(R"({"a": 3})") == "test.json: a: unknown key; rldp reference lists the keys there are");
    CHECK(refused(R"({"train": {"rank": 3}})") == "test.json: train.rank: unknown key; did you mean lora.rank?");
    CHECK(refused(R"({"data": {"narrative": "x"}})").find("data.narrative: unknown key") != std::string::npos);
    CHECK(refused("{}", {"noise.polcy=deck"}) ==
          "--set noise.polcy=deck: noise.polcy: unknown key; did you mean noise.policy?");
    CHECK(refused(R"({"train.lr": 1})").find("write the section as an object") != std::string::npos);
    CHECK(refused(R"({"train": 1})") == "test.json: train is 1; give an object, for it is a section");
}

TEST_CASE("a value of another type or out of range is refused with what the key takes") {
    CHECK(refused(R"({"privacy": {"epsilon": -1}})") == "test.json: privacy.epsilon is -1; give a number in (0, ∞)");
    CHECK(refused(R"({"privacy": {"delta": "1e-5"}})") ==
          "test.json: privacy.delta is \"1e-5\"; give a number in (0, 1)");
    CHECK(refused(R"({"noise": {"policy": "decks"}})") ==
          "test.json: noise.policy is \"decks\"; give one of fixed, deck, filter");
    CHECK(refused(R"({"train": {"steps": 2.5}})") ==
          "test.json: train.steps is 2.5; give a whole number in [1, 10000000]");
    for (const auto* bad : {R"({"privacy": {"epsilon": 0}})",
                            R"({"privacy": {"epsilon": null}})",
                            R"({"privacy": {"delta": 0}})",
                            R"({"privacy": {"delta": 1}})",
                            R"({"noise": {"statistics_share": 1}})",
                            R"({"train": {"steps": 0}})",
                            R"({"train": {"steps": true}})",
                            R"({"seed": -1})",
                            R"({"seed": 9223372036854775808})",
                            R"({"seed": 18446744073709551615})",
                            R"({"lora": {"targets": []}})",
                            R"({"lora": {"targets": "q"}})",
                            R"({"lora": {"targets": ["q", "q"]}})",
                            R"({"rl": {"actions": ["radius"]}})",
                            R"({"noise": {"insecure_reproducible": 1}})",
                            R"({"method": {"name": "dp-adam"}})",
                            R"({"privacy": {"unit": "patient"}})",
                            R"({"privacy": {"unit": {"group": "record"}}})",
                            R"({"privacy": {"unit": {"group": ""}}})",
                            R"({"privacy": {"unit": {"group": "a", "by": "b"}}})",
                            R"({"monitor": {"address": "4242"}})",
                            R"({"monitor": {"address": "localhost:0"}})",
                            R"({"monitor": {"address": "localhost:65536"}})",
                            R"({"monitor": {"address": ":4242"}})",
                            R"({"monitor": {"address": "localhost:42x"}})"}) {
        INFO(bad);
        CHECK_FALSE(refused(bad).empty());
    }
}

TEST_CASE("overrides are JSON, bare words are strings") {
    const auto c = parsed(R"({"train": {"lr": 0.1}, "data": {"max_tokens": 64}})",
                          {"train.lr=0.25", "noise.policy=filter", "lora.targets=[\"k\"]", "device=\"cuda\"",
                           "privacy.unit={\"group\": \"patient\"}", "noise.deck={\"levels\": 4}",
                           "data.max_tokens=null", "train.lr=0.5"});
    CHECK(c.train.lr == 0.5);
    CHECK(c.noise.policy == policy_kind::filter);
    CHECK(c.lora.targets == std::vector<std::string>{"k"});
    CHECK(c.device == "cuda");
    CHECK(c.privacy.unit == "patient");
    CHECK(c.noise.deck.levels == 4);
    CHECK_FALSE(c.data.max_tokens);

    for (const auto* malformed : {"train.lr", "=1", "train.lr=", "", "="}) {
        INFO(malformed);
        CHECK(refused("{}", {malformed}).find("for example, --set train.steps=100") != std::string::npos);
    }
    CHECK(refused("{}", {"lora.targets=[\"k\""}).find("not JSON") != std::string::npos);
    CHECK(refused("{}", {"train.lr=fast"}) == "--set train.lr=fast: train.lr is \"fast\"; give a number in (0, 10]");
    CHECK(refused("{}", {"train.lr=NaN"}).find("give a number") != std::string::npos);
    CHECK(refused("{}", {"train.lr=1e999"}).find("train.lr") != std::string::npos);
    CHECK(refused("{}", {"train.lr.x=1"}).find("did you mean train.lr?") == std::string::npos);
    CHECK_FALSE(refused("{}", {"train..lr=1"}).empty());
}

TEST_CASE("an override of the run's length replaces the file's, whichever way it was given") {
    const auto steps = parsed(R"({"train": {"epochs": 3}})", {"train.steps=30"}).train;
    CHECK(steps.steps == 30);
    CHECK_FALSE(steps.epochs);
    const auto epochs = parsed(R"({"train": {"steps": 30}})", {"train.epochs=0.5"}).train;
    CHECK(epochs.epochs == 0.5);
    CHECK_FALSE(epochs.steps);
    CHECK(parsed(R"({"train": {"epochs": 2}})", {"train.lr=1"}).train.epochs == 2.0);
    CHECK_FALSE(parsed(R"({"train": {"steps": 30}})", {"train.steps=null"}).train.steps);
    CHECK(refused(R"({"train": {"epochs": 3, "steps": 3}})").find("give one of the two") != std::string::npos);
    CHECK(refused(R"({"train": {"epochs": 3, "steps": 3}})", {"train.steps=1"}).find("give one") != std::string::npos);
    CHECK(refused("{}", {"train.steps=1", "train.epochs=1"}).find("give one of the two") != std::string::npos);
}

TEST_CASE("paths of a file are relative to it, those of overrides to the working directory") {
    const auto c = parsed(R"({"data": {"path": "../a/./b.csv", "ids_mapping": "/abs/ids.csv", "template": "t.json"},
                            "model": {"path": "m/"}})");
    CHECK(c.data.path == "/a/b.csv");
    CHECK(c.data.ids_mapping == "/abs/ids.csv");
    CHECK(c.data.narrative == "/base/t.json");
    CHECK(c.model.path == "/base/m");

    const auto here = std::filesystem::current_path();
    const auto d = parsed(R"({"data": {"path": "x.csv"}})", {"data.path=sub/y.csv", "model.path=./m"});
    CHECK(d.data.path == (here / "sub/y.csv").string());
    CHECK(d.model.path == (here / "m").string());

    CHECK(parsed(R"({"data": {"path": "synthetic:6000"}})").data.path == "synthetic:6000");
    CHECK(parsed(R"({"data": {"path": "synthetic:none"}})").data.path == "synthetic:none");
}

TEST_CASE("load reads a file and needs data and a model") {
    const auto file =
        std::filesystem::temp_directory_path() / ("rldp_test_load_" + std::to_string(::getpid()) + ".json");
    write_file(file, R"({"data": {"path": "d.csv"}})");
    CHECK(refusal([&] { config::load(file, {}); }).find("model.path is missing") != std::string::npos);
    const auto c = config::load(file, {"model.path=/m"});
    CHECK(c.data.path == (file.parent_path() / "d.csv").string());
    std::filesystem::remove(file);
    CHECK(refusal([&] { config::load(file, {}); }).find("no such file") != std::string::npos);
}

TEST_CASE("the plan is floor(epochs·N/B) steps") {
    const auto sixteen = parsed(R"({"train": {"expected_batch_size": 16}})");
    CHECK(config::planned_steps(sixteen, 73271) == 13738);  // three epochs at batch 16: the published set-up
    CHECK(config::planned_steps(parsed(R"({"train": {"steps": 5}})"), 73271) == 5);
    CHECK(config::planned_steps(parsed(R"({"train": {"epochs": 0.29, "expected_batch_size": 1}})"), 100) == 29);
    CHECK(config::planned_steps(sixteen, 16) == 3);
    CHECK(refusal([&] { config::planned_steps(sixteen, 15); }).find("can't exceed 1") != std::string::npos);
    CHECK(refusal([&] { config::planned_steps(sixteen, 0); }).find("no training units") != std::string::npos);
    CHECK_FALSE(refusal([] {
                    config::planned_steps(parsed(R"({"train": {"epochs": 0.5, "expected_batch_size": 16}})"), 16);
                }).empty());
    CHECK_FALSE(refusal([] {
                    config::planned_steps(parsed(R"({"train": {"epochs": 1e6, "expected_batch_size": 16}})"), 1000);
                }).empty());
}

TEST_CASE("what is shown of a configuration has file names for paths, and reads back to the same contract") {
    const auto whole =
        config::parse(R"({"privacy": {"book": "/secret/none", "epsilon": 3}, "data": {"path": "~/table.csv",
        "template": "how.json", "cache": "none"}, "model": {"path": "/secret/models/tiny/"},
        "public": {"path": "synthetic:40"}, "train": {"steps": 9}, "cluster": {"secret": "/secret/key"}})",
                      "f.json", "/secret/here", {});
    CHECK(whole.data.path == std::string(std::getenv("HOME")) + "/table.csv");
    const auto text = config::to_public_json(whole);
    CHECK_FALSE(has(text, "secret/"));
    const auto shown = nlohmann::json::parse(text);
    CHECK(shown["data"]["path"] == "table.csv");
    CHECK(shown["data"]["template"] == "how.json");
    CHECK(shown["data"]["cache"] == "none");
    CHECK(shown["model"]["path"] == "tiny");
    CHECK(shown["public"]["path"] == "synthetic:40");
    CHECK(shown["privacy"]["book"] == "./none");  // a directory, not the word
    CHECK(shown["cluster"]["secret"] == "key");
    const auto kept = config::parse(R"({"data": {"cache": "/secret/none"}})", "f.json", "/", {});
    CHECK(has(config::to_public_json(kept), R"("cache": "./none")"));
    const auto back = config::parse(text, "public", "/elsewhere", config::list_places(whole));
    CHECK(config::to_json(back) == config::to_json(whole));
    CHECK(config::common_json(config::parse(text, "public", "/elsewhere", {})) == config::common_json(whole));
}

TEST_CASE("a path need not be text, and everything else must be") {
    const std::string odd = "/d/M\xFCller.csv";
    const auto whole =
        config::parse(R"({"model": {"path": "/m"}})", "f.json", "/", {"data.path=" + odd, "train.steps=9"});
    CHECK(whole.data.path == odd);
    CHECK(has(config::to_json(whole), "M\\\\xfcller.csv"));
    CHECK(config::parse(config::to_public_json(whole), "public", "/", config::list_places(whole)).data.path == odd);
    CHECK(has(refusal([] { config::parse("{}", "f.json", "/", {"run.name=M\xFCller"}); }), "run.name is "));
}
