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
