// What a sweep says.
#include "eval/experiments/sweep.hpp"
#include "tests/catch.hpp"
#include "tests/eval/experiments/fixtures.hpp"

using namespace rldp::eval;

namespace {

sweep_report report_with(const std::vector<std::optional<double>>& ends) {
    const auto plan = plan_sweep({"rl.batch=4,8,16"}, "0,1", fake_resolver());
    std::vector<measured> cells;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const auto& where = plan.cells[i];
        const auto failed = cell_in_state("rldp", 2, 0, cell_state::failed).result;
        cells.push_back({where, ends[i] ? done_cell("rldp", 2, 0, *ends[i], {{50, 9}}).result : failed});
    }
    return make_report(plan, std::move(cells), "rldp sweep <x>");
}

}  // namespace

TEST_CASE("settings are sorted by mean end perplexity, best and worst have names") {
    const auto report = report_with({7, 9, 5, 5, std::nullopt, 6});
    REQUIRE(report.scores.size() == 3);
    CHECK(report.scores[0].setting == "rl.batch=8");
    CHECK(report.scores[1].setting == "rl.batch=16");
    CHECK(report.scores[2].setting == "rl.batch=4");
    CHECK(*report.scores[2].end.mean == Approx(8));
    CHECK(report.scores[1].end.n == 1);
    CHECK(report.scores[1].failed == 1);
    CHECK(report.best()->setting == "rl.batch=8");
    CHECK(report.worst()->setting == "rl.batch=4");
    CHECK(report.cost.epsilon == Approx(10));
}

TEST_CASE("settings without a result come last, and one alone is neither best nor worst") {
    const auto report = report_with({std::nullopt, std::nullopt, 5, 5, std::nullopt, std::nullopt});
    CHECK(report.scores[0].setting == "rl.batch=8");
    CHECK(report.scores[1].setting == "rl.batch=4");
    CHECK(report.best() == nullptr);
    CHECK(report.worst() == nullptr);
    CHECK(has(sweep_text(report), "failed"));
}

TEST_CASE("a sweep's files hold every cell and say which setting is best") {
    const auto report = report_with({7, 9, 5, 5, std::nullopt, 6});
    const auto all = nlohmann::json::parse(sweep_json(report));
    CHECK(all.at("best") == "rl.batch=8");
    CHECK(all.at("worst") == "rl.batch=4");
    CHECK(all.at("cells").size() == 6);
    CHECK(all.at("cells")[4].at("state") == "failed");
    const auto csv = sweep_csv(report);
    CHECK(csv.rfind("id,rl.batch,seed,status", 0) == 0);
    const auto page = sweep_html(report);
    if (!has(page, "gnuplot could not be run"))
        for (const char* label : {">best: rl.batch=8<", ">worst: rl.batch=4<", ">the others<"}) CHECK(has(page, label));
    CHECK(has(page, "rldp sweep &lt;x&gt;"));
    CHECK(has(page, "rl.batch=16,seed=0: failed; see trusted/"));
    CHECK_FALSE(has(page, "<script"));
}
