// The audit as a user runs it, on a sound program and on two that are not.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;

namespace {

/// What `program` claims of a run that it made, and what its audit says.
nlohmann::json run_audit(const std::string& program, std::int64_t bands, const std::filesystem::path& directory) {
    const auto quietly = [&](const std::string& arguments, const std::filesystem::path& out) {
        const auto command = "OMP_NUM_THREADS=1 " + program + " " + arguments + " >" + out.string();
        REQUIRE(std::system(command.c_str()) == 0);
    };
    const auto run = directory / "run";
    const auto correlated =
        bands == 1 ? std::string() : " --set method.name=static --set noise.bands=" + std::to_string(bands);
    quietly(
        "run config/demo.json --set data.path=synthetic:300 --set data.max_tokens=24 --set train.steps=60"
        " --set train.expected_batch_size=64 --set privacy.population=700 --set privacy.epsilon=1"
        " --set audit.gradient_canaries=1000 --set train.eval_records=4 --quiet --json" +
            correlated + " --out " + run.string(),
        directory / "run.json");
    quietly("audit " + run.string() + " --quiet --json", directory / "audit.json");
    return nlohmann::json::parse(read_file(directory / "audit.json"));
}

}  // namespace

TEST_CASE("the audit believes a sound run and refutes one without noise or clipping", "[full]") {
    const scratch_directory scratch;
    std::filesystem::create_directories(scratch / "it");
    const auto [program, sound] =
        GENERATE(table<std::string, bool>({{RLDP_PROGRAM, true}, {RLDP_NO_NOISE, false}, {RLDP_NO_CLIPPING, false}}));
    const auto bands = GENERATE(std::int64_t{1}, std::int64_t{4});
    const auto found = run_audit(program, bands, scratch / "it");
    INFO(program << ", " << bands << " bands: audited " << found.at("audited_epsilon") << ", claimed "
                 << found.at("claimed_epsilon"));
    CHECK(found.at("claimed_epsilon").get<double>() <= 1);
    CHECK((found.at("audited_epsilon").get<double>() > found.at("claimed_epsilon").get<double>()) != sound);
    WARN(program << ", " << bands << " bands: audited ε ≥ " << found.at("audited_epsilon"));
}
