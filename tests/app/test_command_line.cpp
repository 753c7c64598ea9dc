// What the program answers before any of its commands is reached.
#include "app/blas_kernels.hpp"
#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_CASE("without a command the program says what there is, and how to begin") {
    const scratch_directory scratch;
    const auto said = rldp_says("", scratch.path());
    CHECK(said.status == 2);
    CHECK(said.out.empty());
    for (const auto* word : {"run", "check", "audit", "account", "version", "rldp run config/demo.json"})
        CHECK(has(said.err, word));
}

TEST_CASE("a command that does not exist is answered by the nearest one") {
    const scratch_directory scratch;
    const auto nearest = [&](const std::string& word) {
        const auto said = rldp_says(word + " config/demo.json --out x", scratch.path());
        CHECK(said.status == 2);
        CHECK(said.err ==
              "rldp: " + word + ": no such command; did you mean " + said.err.substr(said.err.find("mean ") + 5));
        const auto begin = said.err.find("mean ") + 5;
        return said.err.substr(begin, said.err.find('?') - begin);
    };
    CHECK(nearest("train") == "run");
    CHECK(nearest("rnu") == "run");
    CHECK(nearest("chekc") == "check");
    CHECK(nearest("fine-tune") == "run");
    CHECK(nearest("Verify") == "verify");
    CHECK(nearest("monitr") == "monitor");
}

TEST_CASE("where research commands are not built, help names none, and each says where it is") {
    const scratch_directory scratch;
    std::filesystem::copy_file(RLDP_PROGRAM, scratch / "rldp");
    const auto says = [&](const std::string& arguments) {
        return rldp_says(arguments, scratch.path(), (scratch / "rldp").string());
    };
    CHECK_FALSE(has(says("--help").out, "prepare-controller"));
    for (const auto* command : {"pretrain out", "prepare-controller x.json", "compare --protocol x.json"}) {
        const auto said = says(command);
        CHECK(said.status == 2);
        CHECK(has(said.err, "scripts/build.sh rldp-research"));
        CHECK(std::count(said.err.begin(), said.err.end(), '\n') == 1);
    }
    CHECK(has(rldp_says("--help", scratch.path()).out, "prepare-controller"));
}

TEST_CASE("help is a command, too") {
    const scratch_directory scratch;
    const auto all = rldp_says("help", scratch.path());
    CHECK(all.status == 0);
    CHECK(all.out == rldp_says("--help", scratch.path()).out);
    for (const std::string command : {"run", "account", "key new"}) {
        const auto one = rldp_says("help " + command, scratch.path());
        CHECK(one.status == 0);
        CHECK(one.out == rldp_says(command + " --help", scratch.path()).out);
    }
}

TEST_CASE("of a wrong option the nearest is named, and the help that lists them") {
    const scratch_directory scratch;
    const auto said = [&](const std::string& line) {
        const auto out = rldp_says(line, scratch.path());
        CHECK(out.status == 2);
        return out.err;
    };
    CHECK(said("check --sett train.steps=3 a.json") ==
          "rldp: --sett: no such option; did you mean --set? (see rldp check --help)\n");
    CHECK(said("check --sett=train.steps=3 a.json") ==
          "rldp: --sett: no such option; did you mean --set? (see rldp check --help)\n");
    CHECK(said("verify a --colour") == "rldp: --colour: no such option (see rldp verify --help)\n");
    CHECK(said("check a.json b.json") == "rldp: b.json: one word too many (see rldp check --help)\n");
    CHECK(said("check --set train.steps=3 train.lr=1 a.json") ==
          "rldp: train.lr=1: --set takes one at a time; write --set before it, too (see rldp check --help)\n");
    CHECK(said("check a.json b.json c.json") == "rldp: b.json: one word too many (see rldp check --help)\n");
    CHECK(said("init a.csv") ==
          "rldp: --model is required: directory of the Hugging Face model to fine-tune (see rldp init --help)\n");
}

TEST_CASE("records where a configuration is meant, and a word that is nearly right, are answered so") {
    const scratch_directory scratch;
    const auto said = [&](const std::string& command, const std::string& file) {
        return rldp_says(command + " " + (scratch / file).string(), scratch.path()).err;
    };
    scratch.write("records.csv", "a,b\n1,2\n");
    for (const std::string command : {"run", "check", "preview", "plan"})
        CHECK(has(said(command, "records.csv"),
                  "records.csv: these are records, and a configuration is meant; rldp init"));
    CHECK(has(said("run", "missing.csv"), "missing.csv: no such file"));
    CHECK(has(said("book", "records.csv"), "a budget book is a directory"));
    CHECK(has(rldp_says("generate no/gpt2 --prompt x", scratch.path()).err,
              "no/gpt2: no such directory; a model is a directory as Hugging Face has them"));
    CHECK(has(rldp_says("generate no/gpt2 --prompt x", scratch.path()).err,
              "hf download no/gpt2 --local-dir models/gpt2"));
    CHECK(has(rldp_says("generate " + scratch.path().string() + " --prompt x", scratch.path()).err,
              ": holds no config.json; "));
    scratch.write("a.json", R"({"method": {"name": "rlpd"}})");
    CHECK(has(said("check", "a.json"), "; did you mean rldp?"));
    std::filesystem::create_directories(scratch / "run/public");
    scratch.write("run/public/ledger.jsonl", "");
    CHECK(
        has(said("audit", "run/public"), "attacks need what it keeps beside that; give " + (scratch / "run").string()));
}

TEST_CASE("a number of threads that is none is one line") {
    const scratch_directory scratch;
    for (const std::string wrong : {"0", "-2", "many", "4x"}) {
        const auto script = scratch.write("ask.sh", "OMP_NUM_THREADS='" + wrong + "' " RLDP_PROGRAM " machine 2>&1");
        const auto out = scratch / "said";
        CHECK(std::system(("sh " + script + " > " + out.string()).c_str()) != 0);
        CHECK(rldp::read_file(out) ==
              "rldp: OMP_NUM_THREADS is \"" + wrong + "\"; give a whole number from 1 on, or unset it\n");
    }
}

TEST_CASE("the version is one line") {
    const scratch_directory scratch;
    const auto said = rldp_says("--version", scratch.path());
    CHECK(said.status == 0);
    CHECK(said.out.starts_with("rldp "));
    CHECK(std::count(said.out.begin(), said.out.end(), '\n') == 1);
    CHECK(rldp_says("--help", scratch.path()).status == 0);
    CHECK(has(rldp_says("--wrong", scratch.path()).err, "--wrong"));
}

TEST_CASE("AMD's processors with AVX-512 get kernels that use it, and nobody else's choice is touched") {
    using rldp::app::kernels_for;
    CHECK(kernels_for({"AuthenticAMD", true}) == "SkylakeX");
    CHECK(kernels_for({"AuthenticAMD", false}).empty());
    CHECK(kernels_for({"GenuineIntel", true}).empty());
    CHECK(kernels_for({}).empty());
    const scratch_directory scratch;
    const auto script = scratch.write("ask.sh", "OPENBLAS_CORETYPE=Prescott " RLDP_PROGRAM " machine");
    const auto out = scratch / "said";
    CHECK(std::system(("sh " + script + " > " + out.string()).c_str()) == 0);
    const auto said = rldp::read_file(out);
    CHECK((!has(said, "OpenBLAS") || has(said, "(Prescott kernels")));
}
