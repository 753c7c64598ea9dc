// rldp tokenize, generate and merge as a user calls them.
#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch_directory.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

constexpr auto model = "config/tiny-gpt2";

struct answer {
    int status;
    std::string out, err;
};

answer rldp_says(const std::string& arguments, const std::string& input = "", const std::string& before = "") {
    const scratch_directory scratch;
    const auto file = [&](const char* name) { return (scratch.path() / name).string(); };
    write_file(file("in"), input);
    const auto command =
        before + RLDP_PROGRAM + " " + arguments + " <" + file("in") + " >" + file("out") + " 2>" + file("err");
    const int status = std::system(command.c_str());
    REQUIRE(WIFEXITED(status));
    return {WEXITSTATUS(status), read_file(file("out")), read_file(file("err"))};
}

/// Exit status 2 and one line that says `what`.
void refuses(const std::string& arguments, const std::string& what, const std::string& input = "") {
    INFO(arguments);
    const auto got = rldp_says(arguments, input);
    CAPTURE(got.err);
    CHECK(got.status == 2);
    CHECK(got.err.find(what) != std::string::npos);
    CHECK(got.err.find('\n') + 1 == got.err.size());
}

std::string generate(const std::string& more) {
    return std::string("generate ") + model + " --prompt 'The patient' " + more;
}

}  // namespace

TEST_CASE("tokenize prints an array per line, and --decode turns it back") {
    const std::string text = "The patient was admitted.\n\n  Ångström, 64\n";
    const auto ids = rldp_says(std::string("tokenize ") + model, text);
    CHECK(ids.status == 0);
    CHECK(std::count(ids.out.begin(), ids.out.end(), '\n') == 3);
    CHECK(ids.out.find("\n[]\n") != std::string::npos);
    CHECK(rldp_says(std::string("tokenize --decode ") + model, ids.out).out == text);
    const auto decode = std::string("tokenize --decode ") + model;
    refuses(decode, "line 2: \"a\" is not a token id", "[1]\n[\"a\"]\n");
    refuses(decode, "line 1: 512 is not a token id from 0 to 511", "[512]\n");
    refuses(decode, "line 1: -1 is not", "[-1]\n");
    refuses(decode, "line 3: write one JSON array", "[1]\n[]\n1, 2\n");
    refuses("tokenize tests", "no tokenizer there");
}

TEST_CASE("generate repeats itself for a seed, and says in JSON what it did", "[full]") {
    const auto read_json_output = [](const std::string& more) {
        const auto got = rldp_says(generate("--json " + more));
        REQUIRE(got.status == 0);
        return nlohmann::json::parse(got.out);
    };
    const auto greedy = read_json_output("--max-new-tokens 9");
    CHECK(greedy.at("prompt") == "The patient");
    CHECK(greedy.at("ids").size() == 9);
    CHECK(greedy.at("stopped") == "length");
    const auto text = greedy.at("text").get<std::string>();
    CHECK(rldp_says(generate("--max-new-tokens 9")).out == text + "\n");
    CHECK(rldp_says(generate("--max-new-tokens 9 --echo")).out == "The patient" + text + "\n");
    const auto from_input = std::string("generate ") + model + " --prompt-file - --max-new-tokens 9";
    CHECK(rldp_says(from_input, "The patient\n").out == text + "\n");
    CHECK(read_json_output("--max-new-tokens 9 --temperature 0") == greedy);
    const auto with_alternatives = [&](const std::string& more) {
        return read_json_output("--max-new-tokens 3 --logprobs 1 " + more).at("logprobs");
    };
    CHECK(with_alternatives("--dtype float32 --device cpu") == with_alternatives(""));  // as the model is stored
    CHECK(with_alternatives("--dtype bfloat16") != with_alternatives(""));
    CHECK(read_json_output("--max-new-tokens 9 --temperature 1 --top-k 1 --seed 5") == greedy);
    const std::string draw = "--max-new-tokens 9 --temperature 2 --seed ";
    CHECK(read_json_output(draw + "1") == read_json_output(draw + "1"));
    CHECK(read_json_output(draw + "1") != read_json_output(draw + "2"));
    const auto likely = read_json_output("--max-new-tokens 2 --logprobs 3").at("logprobs");
    CHECK(likely.size() == 2);
    CHECK(likely[0].size() == 3);
    CHECK(likely[0][0][0] == greedy.at("ids")[0]);
}

TEST_CASE("generate ends before a stop string, wherever its tokens end", "[full]") {
    const auto whole =
        nlohmann::json::parse(rldp_says(generate("--json --max-new-tokens 40")).out).at("text").get<std::string>();
    REQUIRE(whole.size() > 12);
    for (std::size_t at = 1; at + 4 < whole.size(); at += 7) {
        const auto stop = whole.substr(at, 3);
        if (stop.find_first_of("'\n\\") != std::string::npos) continue;
        CAPTURE(stop);
        const auto before = whole.substr(0, whole.find(stop));
        CHECK(rldp_says(generate("--max-new-tokens 40 --stop '" + stop + "'")).out == before + "\n");
        const auto parsed = nlohmann::json::parse(
            rldp_says(generate("--json --max-new-tokens 40 --stop zzzz --stop '" + stop + "'")).out);
        CHECK(parsed.at("text") == before);
        CHECK(parsed.at("stopped") == "stop");
    }
}

TEST_CASE("generate refuses bad options in one line", "[full]") {
    refuses(generate("--prompt-file nowhere.txt"), "--prompt");
    refuses(std::string("generate ") + model + " --prompt-file nowhere.txt", "nowhere.txt: no such file");
    refuses(std::string("generate ") + model, "--prompt");
    refuses(generate("--stop ''"), "--stop: it is empty");
    refuses(generate("--max-new-tokens 0"), "at least 1");
    refuses(generate("--max-new-tokens 300"), "window of 256");
    refuses(generate("--max-new-tokens x"), "--max-new-tokens");
    refuses(generate("--max-new-tokens 3 --temperature -1"), "temperature -1");
    refuses(generate("--max-new-tokens 3 --temperature nan"), "temperature nan");
    refuses(generate("--max-new-tokens 3 --top-k 5"), "give --temperature too");
    refuses(generate("--max-new-tokens 3 --temperature 1 --top-k -5"), "top-k -5");
    refuses(generate("--max-new-tokens 3 --temperature 1 --top-p 1.5"), "top-p 1.5");
    refuses(generate("--max-new-tokens 3 --seed -1"), "--seed -1");
    refuses(generate("--max-new-tokens 3 --logprobs 2"), "--json");
    refuses(generate("--max-new-tokens 3 --adapter tests"), "adapter_model.safetensors");
    refuses("generate tests --prompt x --max-new-tokens 3", "config.json");
}

TEST_CASE("who limits stacks so that LibTorch can't work is told so") {
    const auto shallow = rldp_says("machine", "", "ulimit -s 64; ");
    CHECK(shallow.status == 2);
    CHECK(shallow.err == "rldp: the limit on stacks (ulimit -s) is 64 KiB, and LibTorch needs 512; raise it\n");
    CHECK(rldp_says("machine", "", "ulimit -s 512; ").status == 0);
}

// OpenBLAS would repeat a refused mmap() forever.
TEST_CASE("who limits addresses so that OpenBLAS can't work is told so") {
    if (sanitized || rldp_says("machine").out.find("OpenBLAS") == std::string::npos) {
        WARN("skipped: the BLAS is not OpenBLAS, or the address sanitizer takes more addresses than any limit leaves");
        return;
    }
    const std::string made = "build/never", limited = "ulimit -v 6000000; OMP_NUM_THREADS=";
    for (const auto& command : {generate("--max-new-tokens 1"), "pretrain --steps 1 " + made,
                                std::string("merge ") + model + " --adapter tests --out " + made}) {
        INFO(command);
        const auto got = rldp_says(command, "", limited + "99 ");
        CHECK(got.status == 2);
        CHECK(got.err.find("ulimit -v") != std::string::npos);
        CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 1);
    }
    CHECK(!std::filesystem::exists(made));
    CHECK(rldp_says("machine", "", "ulimit -v 700000; ").err.find("LibTorch needs") != std::string::npos);
    CHECK(rldp_says(generate("--max-new-tokens 1"), "", limited + "1 ").status == 0);
}

// CAF would wait for ever for an actor whose thread was never started.
TEST_CASE("who limits addresses so that a run's threads can't start is told so") {
    if (sanitized) {
        WARN("skipped: the address sanitizer takes more addresses than any limit leaves");
        return;
    }
    const auto got = rldp_says("run config/demo.json --quiet --out build/never", "",
                               "ulimit -v 6000000; ulimit -s 1000000; OMP_NUM_THREADS=1 ");
    CHECK(got.status == 1);
    CHECK(got.err.find(" threads can be started here, and 20 are needed") != std::string::npos);
    CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 1);
    CHECK(!std::filesystem::exists("build/never"));
}

TEST_CASE("merge refuses a directory that is there, and a missing adapter") {
    refuses(std::string("merge ") + model + " --adapter tests --out config", "exists already");
    refuses(std::string("merge ") + model + " --adapter tests --out build/never", "adapter_model.safetensors");
    CHECK(!std::filesystem::exists("build/never"));
}

}  // namespace rldp::models::test
