// rldp prepare-controller as a user calls it, in small.
#include <nlohmann/json.hpp>

#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

json tiny() {
    const json family = {{"base", fs::absolute("config/demo.json").string()},
                         {"records", 200},
                         {"set",
                          {{"data.max_tokens", 24},
                           {"train.eval_records", 4},
                           {"train.eval_every", 1000},
                           {"train.expected_batch_size", 4},
                           {"train.steps", 24},
                           {"noise.bands", 1}}}};
    auto in_random_words = family;
    in_random_words["template"] = "random";
    return {{"seed", 1},
            {"quadratics",
             {{"offset", 8},
              {"held_out", {"few-steep-warm"}},
              {"tasks", 8},
              {"gate_tasks", 4},
              {"generations", 1},
              {"rounds", 0}}},
            {"runs",
             {{"offset", 4},
              {"generations", 1},
              {"population", 4},
              {"tasks", 1},
              {"gate_tasks", 2},
              {"families", {{"one", in_random_words}, {"other", family}}},
              {"held_out", {"other"}}}}};
}

}  // namespace

TEST_CASE("a controller is prepared in parts, the same as in one go, and steers a run", "[nightly]") {
    const scratch_directory scratch;
    const auto asked = scratch.write("prepare.json", tiny().dump());
    const auto prepare = [&](const std::string& out, const std::string& more) {
        return rldp_says("prepare-controller " + asked + " --quiet --jobs 2 --out " + (scratch / out).string() + more,
                         scratch / ".");
    };
    const auto whole = prepare("whole", "");
    INFO(whole.err);
    REQUIRE(whole.status == 0);
    CHECK(has(whole.out, "short runs on made-up tables: one (seed 1)"));
    CHECK(prepare("whole", "").status == 2);  // it is there already
    // Hindsight never loses: of its row, the first per cent.
    auto row = rldp::read_file(scratch / "whole.html");
    REQUIRE(has(row, "the best schedule of each task"));
    row = row.substr(row.find("the best schedule of each task"));
    row.resize(row.find('%'));
    INFO(row);
    CHECK((has(row, "-") || has(row, "+0.0 ")));

    // No minute at all: a generation, then a rest.
    CHECK(prepare("parts", " --minutes 0").status == 130);
    CHECK_FALSE(fs::exists(scratch / "parts"));
    const auto rest = prepare("parts", "");
    INFO(rest.err);
    REQUIRE(rest.status == 0);
    CHECK(rldp::read_file(scratch / "parts") == rldp::read_file(scratch / "whole"));

    const auto run = rldp_says(
        "run config/demo.json --quiet --json --set data.path=synthetic:200 --set data.max_tokens=24 "
        "--set train.steps=24 --set train.expected_batch_size=4 --set train.eval_records=4 "
        "--set rl.interval=null --set rl.warmup=null --set rl.state=prepared --set rl.policy=learned "
        "--set noise.allocation=shares --set rl.controller=" +
            (scratch / "whole").string() + " --out " + (scratch / "run").string(),
        scratch / ".");
    INFO(run.err);
    CHECK(run.status == 0);
    CHECK(has(run.out, "short runs on made-up tables"));

    // An owner who demands a signature.
    const auto key = (scratch / "owner").string(), policy = (scratch / "whole").string();
    for (const auto& name : {key, key + "2"}) REQUIRE(rldp_says("key new " + name, scratch / ".").status == 0);
    const auto checked = [&] {
        return rldp_says(
            "check config/demo.json --set rl.interval=null --set rl.warmup=null --set rl.state=prepared "
            "--set noise.allocation=shares --set rl.controller=" +
                policy + " --set rl.signer=" + key + ".pub",
            scratch / ".");
    };
    CHECK(has(checked().err, "is not signed"));
    REQUIRE(rldp_says("sign-policy " + policy + " --key " + key + "2", scratch / ".").status == 0);
    CHECK(has(checked().err, "is signed by key"));
    REQUIRE(rldp_says("sign-policy " + policy + " --key " + key, scratch / ".").status == 0);
    const auto accepted = checked();
    INFO(accepted.err);
    CHECK(accepted.status == 0);
    CHECK(has(accepted.out, "signed by key"));

    // The gate alone is asked again: what was found stays, and the file says how often it was asked.
    auto again = tiny();
    again["runs"]["gate_seed"] = 2;
    again["runs"]["validation_tasks"] = 2;
    scratch.write("prepare.json", again.dump());
    fs::remove(scratch / "parts");
    CHECK(has(prepare("parts", "").err, "a preparation other than"));  // another choice of what SAC adds
    again["runs"].erase("validation_tasks");
    scratch.write("prepare.json", again.dump());
    const auto judged = prepare("parts", "");
    INFO(judged.err);
    CHECK(judged.status == 0);
    CHECK(has(judged.out, "its gate was asked 2 times"));
    const auto gain = [](const std::string& told) { return told.substr(told.find('%') - 6, 80); };
    CHECK(gain(rest.out) != gain(judged.out));

    auto other = tiny();
    other["seed"] = 2;
    scratch.write("prepare.json", other.dump());
    fs::remove(scratch / "parts");
    const auto mixed = prepare("parts", "");
    CHECK(mixed.status == 2);
    CHECK(has(mixed.err, "a preparation other than"));
}
