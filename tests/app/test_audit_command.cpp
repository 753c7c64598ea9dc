// rldp audit as a user calls it.
#include <nlohmann/json.hpp>

#include "tests/app/program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

#include "tests/catch.hpp"

namespace {

const std::string audited_run =
    "config/demo.json --set data.path=synthetic:200 --set data.max_tokens=32 --set train.steps=3 --set rl.warmup=1"
    " --set rl.interval=1 --set train.warmup=0 --set train.expected_batch_size=8 --set train.eval_records=4"
    " --set train.value_weight=3 --set audit.targets=20 --set audit.trials=20 --set audit.references=20 --set "
    "data.canaries=20";

nlohmann::json planted_in(const std::filesystem::path& run) {
    return nlohmann::json::parse(rldp::read_file(run / "trusted/membership.json")).at("canaries");
}

}  // namespace

TEST_CASE("audit with shadow runs: they are made once, and an audit without them needs none", "[full]") {
    const scratch_directory scratch;
    const auto run = (scratch / "run").string();
    REQUIRE(rldp_says("run " + audited_run + " --quiet --out " + run, scratch / ".").status == 0);

    const auto alone = rldp_says("audit " + run + " --json", scratch / ".");
    REQUIRE(alone.status == 0);
    CHECK(nlohmann::json::parse(alone.out).at("lira").is_null());

    const auto shadowed = rldp_says("audit " + run + " --json --quiet --shadows 2 --jobs 2", scratch / ".");
    INFO(shadowed.err);
    REQUIRE(shadowed.status == 0);
    const auto lira = nlohmann::json::parse(shadowed.out).at("lira");
    CHECK(lira.at("shadows") == 2);
    CHECK(lira.at("offline").at("auc").is_number());

    const auto shadow = std::filesystem::path(run) / "trusted/shadows/cells/0";
    CHECK(planted_in(run).size() > 1);
    CHECK(planted_in(shadow) == planted_in(run));
    const auto ledger = shadow / "public/ledger.jsonl";
    const auto made = std::filesystem::last_write_time(ledger);
    REQUIRE(rldp_says("audit " + run + " --quiet --shadows 2", scratch / ".").status == 0);
    CHECK(std::filesystem::last_write_time(ledger) == made);
    CHECK(std::filesystem::exists(std::filesystem::path(run) / "trusted/audit/audit.html"));
}

TEST_CASE("audit refuses in a line what it can't attack") {
    const scratch_directory scratch;
    const auto none = rldp_says("audit " + (scratch / "none").string(), scratch / ".");
    CHECK(none.status != 0);
    CHECK(has(none.err, "holds no run"));
    const auto both = rldp_says("audit " + (scratch / "none").string() + " --shadows 2 --during-run", scratch / ".");
    CHECK(both.status != 0);
    CHECK(has(both.err, "--shadows or --during-run"));
}
