// rldp key, sign and verify as an owner and an auditor call them, on a run that was really made.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using nlohmann::json;

namespace {

namespace fs = std::filesystem;

const std::string signed_run =
    "config/demo.json --quiet --set data.path=synthetic:200 --set data.max_tokens=32 --set train.steps=3"
    " --set rl.warmup=1 --set rl.interval=1 --set train.warmup=0 --set train.expected_batch_size=8"
    " --set train.eval_records=4";

struct owner {
    scratch_directory scratch;
    std::string run = (scratch / "run").string(), key = (scratch / "owner").string();

    answer says(const std::string& arguments) const { return rldp_says(arguments, scratch.path()); }
    /// One line on standard error that holds every part.
    void refuses(const std::string& arguments, const std::vector<std::string>& parts, int status = 2) const {
        const auto got = says(arguments);
        CAPTURE(arguments, got.err);
        CHECK(got.status == status);
        CHECK(got.out.empty());
        CHECK(got.err.find('\n') + 1 == got.err.size());
        for (const auto& part : parts) CHECK(has(got.err, part));
    }
};

}  // namespace

TEST_CASE("a run is signed at its end or afterwards, and verified by whoever has the public key") {
    const owner at;
    REQUIRE(at.says("key new " + at.key).status == 0);
    at.refuses("key new " + at.key, {"exists already"});

    REQUIRE(at.says("run " + signed_run + " --out " + at.run + " --sign " + at.key).status == 0);
    const auto seen = at.says("verify " + at.run + " --key " + at.key + ".pub");
    REQUIRE(seen.status == 0);
    for (const char* part :
         {"\nchecked\n", "signature", "files", "ledger", "guarantee", "\nnot checked\n", "data", "noise"})
        CHECK(has(seen.out, part));
    const auto all = json::parse(at.says("verify " + at.run + " --key " + at.key + ".pub --json").out);
    CHECK(all.at("guarantee") == true);
    CHECK(all.at("signed_by").is_string());
    CHECK(all.at("epsilon").get<double>() <= 8);
    CHECK(at.says("verify " + at.run + "/public/certificate.json --key " + at.key + ".pub").status == 0);
    CHECK(has(at.says("verify " + at.run).out, "whose is key"));

    const auto leaving = at.says("publish --check " + at.run);
    CHECK(leaving.status == 0);
    for (const char* part : {"public/adapter/README.md", "public/ledger.jsonl", "words that go with it", "stays here"})
        CHECK(has(leaving.out, part));
    CHECK_FALSE(has(leaving.out, "look at this first"));
    at.refuses("publish " + at.run, {"nothing is sent from here"});
    fs::copy(at.run, at.run + "-2", fs::copy_options::recursive);
    std::ofstream(at.run + "-2/public/notes.txt") << "mine";
    const auto strange = at.says("publish --check " + at.run + "-2");
    CHECK(strange.status == 4);
    CHECK(has(strange.out, "look at this first: public/notes.txt is none of a run's files"));

    REQUIRE(at.says("key new " + at.key + "2").status == 0);
    at.refuses("verify " + at.run + " --key " + at.key + "2.pub", {"is signed by key"}, 4);
    at.refuses("verify " + at.run + " --key " + at.key, {"is a secret key"});
    REQUIRE(at.says("sign " + at.run + " --key " + at.key + "2").status == 0);
    CHECK(at.says("verify " + at.run + " --key " + at.key + "2.pub").status == 0);

    // What does not verify is not signed, neither against the old certificate nor without one.
    const auto config = fs::path(at.run) / "public/config.json";
    auto text = rldp::read_file(config);
    const std::string steps = "\"steps\": 3";
    REQUIRE(text.find(steps) != std::string::npos);
    rldp::write_file(config, text.replace(text.find(steps), steps.size(), "\"steps\": 4"));
    at.refuses("sign " + at.run + " --key " + at.key, {"public/config.json is another file"});
    at.refuses("verify " + at.run, {"public/config.json is another file"}, 4);
    fs::remove(fs::path(at.run) / "public/certificate.json");
    at.refuses("sign " + at.run + " --key " + at.key, {"holds no public/certificate.json"});
    at.refuses("ledger verify " + at.run, {"public/config.json", "the number of steps"});
    at.refuses("verify " + at.run, {"holds no public/certificate.json"});
}

TEST_CASE("a run without a key is certified all the same, and ledger verify says what a chain is worth") {
    const owner at;
    REQUIRE(at.says("run " + signed_run + " --out " + at.run).status == 0);
    CHECK(has(at.says("verify " + at.run).out, "detects accidents, not forgery"));
    const auto chain = at.says("ledger verify " + at.run);
    CHECK(chain.status == 0);
    CHECK(has(chain.out, "can recompute every hash"));
    CHECK(has(chain.out, "configuration"));
    const auto alone = at.says("ledger verify " + at.run + "/public/ledger.jsonl");
    CHECK(has(alone.out, "give the run directory"));
}

TEST_CASE("a key that can't sign is refused before a run starts") {
    const owner at;
    at.refuses("run " + signed_run + " --out " + at.run + " --sign " + at.key, {"no such file"});
    REQUIRE(at.says("key new " + at.key).status == 0);
    fs::permissions(at.key, static_cast<fs::perms>(0644));
    at.refuses("run " + signed_run + " --out " + at.run + " --sign " + at.key, {"others can read", "0644"});
    CHECK_FALSE(fs::exists(at.run));
    at.refuses("sign " + at.run + " --key " + at.key, {"others can read"});

    const auto inside = at.scratch / "other";
    fs::create_directories(inside / "public");
    rldp::write_file(inside / "public/ledger.jsonl", "");
    at.refuses("key new " + (inside / "key").string(), {"lies in the run directory"});
    at.refuses("verify " + (at.scratch / "none").string(), {"no such file"});
    at.refuses("verify " + at.scratch.write("no.json", "no certificate"), {"no.json"});
    at.refuses("verify " + inside.string(), {"holds no public/certificate.json"});
}
