// Pages that are passed on beside the owner's: what is planted on the trusted side must not reach the others.
#include <sys/stat.h>

#include "eval/experiments/compare_grid.hpp"
#include "eval/experiments/owner_page.hpp"
#include "eval/experiments/sweep.hpp"
#include "tests/catch.hpp"
#include "tests/eval/experiments/fixtures.hpp"

using namespace rldp::eval;

namespace {

// Of the attacks, the log, why it failed, time, starts, warnings, and the number of units.
const std::vector<std::string> secrets = {"0.87654", "log <MRN-4711>", "signal 11", "98765.25", "31337"};
const std::vector<std::string> counts = {"77 records were cut", "54321"};

/// A cell's files: done, attacked, and failed at its last attack; or failed in its run.
void plant(const cell_files& files, bool done) {
    std::filesystem::create_directories(files.run().public_side());
    std::filesystem::create_directories(files.run().audit());
    rldp::write_file(files.run().ledger(), R"({"delta":1e-5,"guaranteed_epsilon":2,"insecure_reproducible":false,)"
                                           R"("semantics":"sound","steps":40})"
                                           "\n");
    write_history(files, {98765.25, 31337, "ended by signal 11"});
    rldp::write_file(files.log(), "rldp: log <MRN-4711>\n");
    if (!done) return;
    auto summary = sample_summary();
    summary.units = 54321;
    summary.warnings = {"77 records were cut"};
    rldp::write_file(files.run().summary(), to_json(summary));
    rldp::write_file(files.run().certificate(), "{}\n");
    rldp::write_file(files.run().audit_json(), R"({"membership": {"members": {"mean_log_probability": -0.5,
        "mean_perplexity": 1.7}, "attack": {"auc": 0.87654}}, "extraction": [], "course": [{"mean_exposure": 1.4}],
        "audited_epsilon": null})");
}

void check_pages(const std::filesystem::path& out, const std::string& kind) {
    for (const char* ending : {".json", ".csv", ".html"}) {
        const auto text = rldp::read_file(out / (kind + ending));
        INFO(kind << ending);
        for (const auto* all : {&secrets, &counts})
            for (const auto& marker : *all) {
                INFO(marker);
                CHECK_FALSE(has(text, marker));
            }
        CHECK_FALSE(has(text, "MRN-4711"));
        CHECK(has(text, "failed"));
    }
    const auto page = rldp::read_file(out / (kind + ".html"));
    for (const char* word : {"Attack", "econds", "Wall time", "AUC"}) {
        INFO(word);
        CHECK_FALSE(has(page, word));
    }
}

void check_owners(const std::filesystem::path& out) {
    const grid_directory place{out};
    const auto json = rldp::read_file(place.owner_json());
    for (const auto& marker : secrets) says(json, marker);
    const auto page = rldp::read_file(place.owner_page());
    for (const char* marker : {"0.8765", "log &lt;MRN-4711&gt;", "signal 11", "9.877e+04", "membership AUC"})
        says(page, marker);
    CHECK_FALSE(has(page, "<MRN"));
    CHECK_FALSE(has(page, "<script"));
    struct stat door {};
    REQUIRE(::stat(place.trusted_side().c_str(), &door) == 0);
    CHECK((door.st_mode & 0777) == 0700);
}

/// Plants every cell, writes the experiment's files as its engine does, and checks them.
void check_experiment(const experiment& what) {
    const scratch_directory scratch;
    const auto& out = scratch.path();
    grid_directory{out}.create();
    std::vector<measured> cells;
    for (const auto& one : what.stages.front()({})) {
        plant({out, one.id}, cells.size() % 2 == 0);
        cells.push_back({one, read_result({out, one.id})});
    }
    const auto files = what.report(cells, "rldp");
    write_files(out, what.what.kind, files, cells);
    check_pages(out, what.what.kind);
    check_owners(out);
    for (const auto& marker : secrets) CHECK_FALSE(has(files.text, marker));
    // an attack that failed is not the experiment's business
    CHECK(cells[0].result.state == cell_state::done);
    CHECK(cells[1].result.state == cell_state::failed);
}

}  // namespace

TEST_CASE("a comparison's pages hold nothing of the trusted side, the owner's do") {
    compare_options given;
    given.methods = "static,rldp", given.epsilons = "2", given.seeds = "0,1";
    check_experiment(make_experiment(plan_compare(given, fake_resolver())));
}

TEST_CASE("a sweep's pages hold nothing of the trusted side, the owner's do") {
    check_experiment(make_experiment(plan_sweep({"rl.batch=4,8"}, "0,1", fake_resolver())));
}

TEST_CASE("the owner's page shows cells that differ by their seed as one, and says where nothing was attacked") {
    const auto known = [](double seconds, std::map<std::string, double> attacks) {
        return cell_secrets{{seconds, 1, {}}, std::move(attacks), ""};
    };
    const auto at = [](const char* seed) {
        return cell{"static-" + std::string(seed), {{"method", "static"}, {"seed", seed}}, {}};
    };
    auto page =
        owner_html({{at("0"), known(10, {{"membership AUC", 0.5}})}, {at("1"), known(30, {{"membership AUC", 0.7}})}});
    says(page, "<td>method static</td><td class=\"n\">0.6 ± 0.14</td>");
    says(page, "<td class=\"n\">20 ± 14</td><td class=\"n\">2</td>");
    CHECK_FALSE(has(page, "ε at least"));
    page = owner_html({{at("0"), known(10, {})}, {at("1"), {}}});
    says(page, "No cell has been attacked");
}
