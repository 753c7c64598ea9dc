// rldp tune as a user calls it.
#include <nlohmann/json.hpp>

#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// The demo, on little, whose book is asked for.
const std::string base =
    "tune config/demo.json --set data.path=synthetic:400 --set data.max_tokens=24 --set train.steps=4 "
    "--set train.expected_batch_size=6 --set train.eval_records=40 --set privacy.delta=1e-4 --set rl.interval=2 "
    "--set rl.warmup=2 --set privacy.book=tuned ";
const std::string grid = "--grid train.lr=0.001,1e-3 ";

answer tune(const scratch_directory& scratch, const std::string& more) {
    return rldp_says(base + more, scratch / ".");
}

std::size_t count_lines(const fs::path& file, const std::string& with) {
    const auto text = rldp::read_file(file);
    std::size_t out = 0;
    for (auto at = text.find(with); at != std::string::npos; at = text.find(with, at + 1)) ++out;
    return out;
}

}  // namespace

TEST_CASE("rldp tune: trials and a final run are one promise, gone on with at no cost") {
    scratch_directory scratch;
    const auto out = (scratch / "tuned").string();
    const auto made = tune(scratch, grid + "--json --out " + out);
    INFO(made.err);
    REQUIRE(made.status == 0);
    CHECK(has(made.err, "3 runs, 2 trials and the final one, share ε = 8 at δ = 0.0001"));
    const auto all = json::parse(made.out);
    const auto winner = all.at("winner").get<std::string>();
    REQUIRE(all.at("trials").size() == 2);
    CHECK(all.at("final").at("state") == "done");
    // Equal settings, and other noise: no two look alike.
    CHECK(all.at("trials")[0].at("summary").at("perplexity_after") !=
          all.at("trials")[1].at("summary").at("perplexity_after"));
    CHECK(all.at("price").at("noise_multiplier") > all.at("price").at("noise_multiplier_without_trials"));

    const auto verified = rldp_says("verify --json " + out, scratch / ".");
    INFO(verified.err);
    REQUIRE(verified.status == 0);
    CHECK(json::parse(verified.out).at("runs_begun") == 3);
    CHECK(json::parse(verified.out).at("epsilon_spent") <= json::parse(verified.out).at("epsilon"));
    CHECK(count_lines(scratch / "books/tuned/book.jsonl", "began_run") == 1);

    // An output that is there is not written over; gone on with, it is what it was.
    CHECK(has(tune(scratch, grid + "--out " + out).err, "go on with it by --resume"));
    const auto account = rldp::read_file(fs::path(out) / "account.jsonl");
    const auto again = tune(scratch, grid + "--json --resume --out " + out);
    REQUIRE(again.status == 0);
    CHECK(json::parse(again.out).at("winner") == winner);
    CHECK(json::parse(again.out).at("final") == all.at("final"));
    CHECK(rldp::read_file(fs::path(out) / "account.jsonl") == account);

    // As if it had been cut before the final run began: the choice is the same. Who cuts the account alone gets no run.
    fs::remove_all(fs::path(out) / "cells/final");
    rldp::write_file(fs::path(out) / "account.jsonl", account.substr(0, account.rfind('\n', account.size() - 2) + 1));
    CHECK(tune(scratch, grid + "--resume --out " + out).status == 1);
    CHECK(has(rldp::read_file(fs::path(out) / "trusted/cells/final.log"), "cells/final was begun and is missing"));
    auto starts = json::parse(rldp::read_file(fs::path(out) / "trusted/starts.json"));
    starts.erase("cells/final");
    rldp::write_file(fs::path(out) / "trusted/starts.json", starts.dump());
    const auto cut = tune(scratch, grid + "--json --resume --out " + out);
    INFO(cut.err);
    REQUIRE(cut.status == 0);
    CHECK(json::parse(cut.out).at("winner") == winner);
    CHECK(json::parse(cut.out).at("final").at("setting") == all.at("final").at("setting"));

    // A trial that is removed is spent, and no second one is to be had for nothing.
    fs::remove_all(fs::path(out) / "cells/trial-1");
    const auto refused = tune(scratch, grid + "--resume --out " + out);
    CHECK(refused.status == 1);
    CHECK(has(rldp::read_file(fs::path(out) / "trusted/cells/trial-1.log"), "what that spent is spent"));
    CHECK(rldp_says("verify " + out, scratch / ".").status == 4);
    CHECK(count_lines(scratch / "books/tuned/book.jsonl", "began_run") == 1);
}

TEST_CASE("rldp tune: all runs train the modules that were chosen when it began") {
    scratch_directory scratch;
    const auto out = scratch / "tuned";
    const auto targets_in = [](const fs::path& file) {
        const auto all = json::parse(rldp::read_file(file));
        return all.value("configuration", all).at("lora").at("targets").dump();
    };
    // Begun with others than would be chosen now, as on a machine of less memory.
    const std::string few = R"(["q","v"])";
    REQUIRE(tune(scratch, grid + "--quiet --set 'lora.targets=" + few + "' --out " + out.string()).status == 0);
    const auto again = tune(scratch, grid + "--quiet --resume --out " + out.string());
    INFO(again.err);
    CHECK(again.status == 0);
    CHECK(targets_in(out / "grid.json") == few);
    for (const char* run : {"trial-1", "trial-2", "final"})
        CHECK(targets_in(out / "cells" / run / "public/config.json") == few);
    CHECK(has(tune(scratch, grid + "--resume --set 'lora.targets=[\"q\"]' --out " + out.string()).err, "lora.targets"));
}

TEST_CASE("rldp tune: what can't be tuned is refused in a line, and nothing is made") {
    scratch_directory scratch;
    const auto refused = [&](const std::string& more, const std::string& line) {
        const auto said = tune(scratch, "--quiet --out " + (scratch / "tuned").string() + " " + more);
        CAPTURE(more);
        CAPTURE(said.err);
        CHECK(said.status == 2);
        CHECK(has(said.err, line));
        CHECK(std::count(said.err.begin(), said.err.end(), '\n') == 1);
        CHECK_FALSE(fs::exists(scratch / "tuned"));
    };
    refused("--grid train.steps=4,8", "--grid train.steps: may change what a run costs");
    refused("--grid train.rate=4,8", "unknown key");
    refused(grid + "--trials 3", "the grid has 2 settings");
    refused("--grid train.lr=0.1", "leaves nothing to choose");
    refused(grid + "--set eval.publish=none", "looks at held-out units");
    refused(grid + "--set noise.policy=filter", "which that is not proven");
    refused("--grid method.name=rldp,static", "has another price");
    refused(grid + "--resume", "holds no tuning");
    refused("--grid train.lr=0.1,-1", "cell trial-2: --set train.lr");
    CHECK_FALSE(fs::exists(scratch / "books"));
    // A total that all runs together would exceed.
    REQUIRE(rldp_says("book tuned --total-epsilon 5 --total-delta 1e-3", scratch / ".").status == 0);
    refused(grid, "with this run, 1 run comes to ε = 8 (added up), and the total is 5");
    CHECK(count_lines(scratch / "books/tuned/book.jsonl", "began_run") == 0);
}

TEST_CASE("rldp tune --dry-run tells what the trials leave of the noise") {
    scratch_directory scratch;
    const std::string nine_rates = "--grid train.lr=0.001,0.002,0.003,0.004,0.005,0.006,0.007,0.008,0.009 ";
    const auto told = [&](const std::string& more, const std::string& tried) {
        const auto said = rldp_says(
            "tune config/demo.json --json --dry-run --set privacy.population=73271 "
            "--set train.steps=100 --set noise.policy=fixed --set data.path=nowhere.csv "
            "--set privacy.epsilon=2 " +
                tried + more,
            scratch / ".");
        INFO(said.err);
        REQUIRE(said.status == 0);
        return json::parse(said.out);
    };
    // Worked out apart, by another program.
    const auto one_band = [&](const std::string& more) { return told("--set noise.bands=1 " + more, nine_rates); };
    const auto nine = one_band("");
    CHECK(nine.at("runs") == 10);
    CHECK(nine.at("noise_multiplier").get<double>() == Approx(.5498).epsilon(1e-3));
    CHECK(nine.at("noise_multiplier_without_trials").get<double>() == Approx(.4963).epsilon(1e-3));
    CHECK(nine.at("epsilon_of_one_run").get<double>() == Approx(1.16).epsilon(1e-2));
    CHECK(one_band("--trials 3").at("noise_multiplier").get<double>() == Approx(.5285).epsilon(1e-3));
    CHECK(one_band("--trials 5").at("noise_multiplier").get<double>() == Approx(.5378).epsilon(1e-3));
    // Where trials look for the rate, as many bands as a run has whose rate is open; where it is given, one.
    const auto open = told("", nine_rates);
    CHECK(open.at("bands") == 4);
    CHECK(open.at("noise_multiplier") == told("--set noise.bands=4", nine_rates).at("noise_multiplier"));
    CHECK(told("--set train.lr=0.01 --grid clip.initial=0.1,0.2", "").at("bands") == 1);
    CHECK(
        told("--set train.lr=0.001 --set 'train.parameters=[\"bias\"]' --set noise.allocation=proportional", nine_rates)
            .at("bands") == 1);
}
