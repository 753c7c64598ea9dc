// The numbers of a comparison, by hand.
#include "eval/experiments/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "eval/experiments/comparison_files.hpp"
#include "tests/catch.hpp"
#include "tests/eval/experiments/fixtures.hpp"

using namespace rldp::eval;

namespace {

compare_plan make_plan(const std::string& methods, std::vector<double> epsilons = {2}) {
    compare_plan out;
    out.methods = methods_from(methods);
    out.epsilons = std::move(epsilons);
    out.seeds = {0, 1};
    out.base_lr = 0.0005;
    return out;
}

void tune_over(compare_plan& plan, const std::vector<double>& rates) {
    plan.rates = rates;
    for (auto& method : plan.methods) {
        method.tuned = {{"train.lr", {}}};
        for (const auto rate : rates) method.tuned[0].values.push_back(fmt::format("{}", rate));
    }
}

const score& find(const comparison& of, const std::string& method) {
    for (const auto& one : of.scores)
        if (one.method == method) return one;
    throw std::runtime_error("no score of " + method);
}

}  // namespace

TEST_CASE("mean and deviation over n − 1") {
    const auto three = compute_statistic({1, 2, 6});
    CHECK(three.n == 3);
    CHECK(*three.mean == Approx(3));
    CHECK(*three.deviation == Approx(std::sqrt(7.0)));
    CHECK_FALSE(compute_statistic({4}).deviation.has_value());
    CHECK_FALSE(compute_statistic({}).mean.has_value());
}

TEST_CASE("the best baseline is sound, a baseline, and the first in a tie") {
    const auto plan = make_plan("static,auto_s,psac,rldp,rldp_as_published,rldp_random");
    std::vector<measured> cells = {
        done_cell("static", 2, 0, 6),     done_cell("static", 2, 1, 8), done_cell("auto_s", 2, 0, 5),
        done_cell("auto_s", 2, 1, 7),     done_cell("psac", 2, 0, 7),   done_cell("psac", 2, 1, 5),
        done_cell("rldp", 2, 0, 4),       done_cell("rldp", 2, 1, 5),   done_cell("rldp_as_published", 2, 0, 1),
        done_cell("rldp_random", 2, 0, 2)};
    const auto numbers = compare(plan, common_cells(cells));
    REQUIRE(numbers.standings.size() == 1);
    const auto& one = numbers.standings[0];
    CHECK(one.baseline == "auto_s");
    CHECK(*one.baseline_end.mean == Approx(6));
    CHECK(*one.baseline_end.deviation == Approx(std::sqrt(2.0)));
    CHECK(*one.difference == Approx(4.5 - 6));
    CHECK(*one.ratio == Approx(0.75));
    CHECK(find(numbers, "rldp_random").cells.at(cell_state::not_run) == 1);
}

TEST_CASE("RLDP and the best baseline are compared over the seeds that both have") {
    const auto plan = make_plan("static,auto_s,rldp");
    std::vector<measured> cells = {done_cell("static", 2, 0, 9), done_cell("static", 2, 1, 9),
                                   done_cell("auto_s", 2, 0, 5), cell_in_state("auto_s", 2, 1, cell_state::failed),
                                   done_cell("rldp", 2, 0, 4),   done_cell("rldp", 2, 1, 8)};
    const auto numbers = compare(plan, common_cells(cells));
    const auto& one = numbers.standings[0];
    CHECK(one.baseline == "auto_s");
    CHECK(one.ours_end.n == 1);
    CHECK(*one.ours_end.mean == Approx(4));
    CHECK(*one.difference == Approx(-1));
    CHECK(*find(numbers, "rldp").end.mean == Approx(6));
}

TEST_CASE("a baseline that lacks the hard seed is not the best by it") {
    const auto plan = make_plan("static,auto_s,psac,rldp");
    // auto_s has the lower mean of those it has; at the seed that all have, static is better. psac takes no seed away.
    std::vector<measured> cells = {done_cell("static", 2, 0, 6), done_cell("static", 2, 1, 10),
                                   done_cell("auto_s", 2, 0, 7), cell_in_state("auto_s", 2, 1, cell_state::failed),
                                   done_cell("rldp", 2, 0, 5),   done_cell("rldp", 2, 1, 9)};
    auto one = compare(plan, common_cells(cells)).standings[0];
    CHECK(one.seeds == std::vector<std::int64_t>{0});
    CHECK(one.baseline == "static");
    CHECK(*one.baseline_end.mean == Approx(6));
    CHECK(*one.difference == Approx(-1));
    // without a seed in common there is nothing to say
    cells[0] = cell_in_state("static", 2, 0, cell_state::failed);
    one = compare(plan, common_cells(cells)).standings[0];
    CHECK(one.seeds.empty());
    CHECK_FALSE(one.baseline.has_value());
    CHECK_FALSE(one.difference.has_value());
}

TEST_CASE("steps to the best baseline, per seed, never counts as one") {
    const auto plan = make_plan("static,rldp", {2, 4});
    // ε 2: seed 0 reaches 5 (equal is enough) at step 40, seed 1 never reaches 3; ε 4: at 10 and 20
    std::vector<measured> cells = {done_cell("static", 2, 0, 5),
                                   done_cell("static", 2, 1, 3),
                                   done_cell("rldp", 2, 0, 4, {{20, 5.1}, {40, 5}, {60, 6}, {80, 4}}),
                                   done_cell("rldp", 2, 1, 4, {{20, 5}, {100, 4}}),
                                   done_cell("static", 4, 0, 5),
                                   done_cell("static", 4, 1, 3),
                                   done_cell("rldp", 4, 0, 4, {{10, 4.9}}),
                                   done_cell("rldp", 4, 1, 2, {{10, 9}, {20, 2}})};
    auto numbers = compare(plan, common_cells(cells));
    REQUIRE(numbers.reaches.size() == 4);
    CHECK(numbers.reached() == 3);
    CHECK(*numbers.mean_fraction == Approx((0.4 + 1 + 0.1 + 0.2) / 4));
    CHECK(*numbers.median_fraction == Approx(0.3));
    // an odd number of pairs: the middle one; a pair that lacks a side says nothing
    cells[2] = cell_in_state("rldp", 2, 0, cell_state::failed);
    numbers = compare(plan, common_cells(cells));
    CHECK(numbers.reaches.size() == 3);
    CHECK(*numbers.median_fraction == Approx(0.2));
}

TEST_CASE("failed, missing and endless cells") {
    const auto plan = make_plan("static,auto_s,rldp");
    auto diverged = done_cell("auto_s", 2, 0, std::nan(""));
    std::vector<measured> cells = {done_cell("static", 2, 0, 9), cell_in_state("static", 2, 1, cell_state::failed),
                                   diverged, cell_in_state("auto_s", 2, 1, cell_state::unfinished),
                                   cell_in_state("rldp", 2, 0, cell_state::not_run)};
    const auto numbers = compare(plan, common_cells(cells));
    CHECK(numbers.standings[0].baseline == "static");
    CHECK_FALSE(numbers.standings[0].difference.has_value());
    CHECK_FALSE(numbers.mean_fraction.has_value());
    CHECK(find(numbers, "static").end.n == 1);
    CHECK(find(numbers, "static").cells.at(cell_state::failed) == 1);
    CHECK(find(numbers, "rldp").cells.at(cell_state::not_run) == 2);
    const auto nothing = compare(plan, {});
    CHECK_FALSE(nothing.standings[0].baseline.has_value());
}

TEST_CASE("what the comparison cost: every cell that began on the data, whether it ended or not") {
    auto unsound = done_cell("rldp_as_published", 2, 0, 5);
    unsound.result.committed->holds = false;
    auto cut_off = cell_in_state("rldp", 2, 1, cell_state::failed);
    cut_off.result.committed = commitment{2, 1e-5, 100, true};
    auto tuning = done_cell("static", 2, 100, 5);
    tuning.where.trial = true;
    tuning.where.split.reset();
    auto own = done_cell("static", 2, 0, 5);
    own.where.setting = 1;
    const auto cost = sum_expense({done_cell("static", 2, 0, 5), cut_off, unsound, tuning, own,
                                   cell_in_state("rldp", 2, 0, cell_state::not_run)});
    CHECK(cost.epsilon == Approx(6));
    CHECK(cost.delta == Approx(3e-5));
    CHECK(cost.bounded == 3);
    CHECK(cost.unbounded == 1);
    CHECK(cost.made_up == 1);
    // tuning on real data would count as the others
    tuning.where.split = own.where.split;
    CHECK(sum_expense({own, tuning}).epsilon == Approx(4));
}

TEST_CASE("ε is summed only under a guarantee, and where raw figures go out over one split") {
    const auto first = done_cell("static", 2, 0, 5);
    auto second = done_cell("static", 2, 1, 5);
    const auto words = [](const std::vector<measured>& cells) {
        std::string out;
        for (const auto& sentence : expense_sentences(sum_expense(cells))) out += sentence + "\n";
        return out;
    };
    says(words({first, second}), "2 cells read the training data under a bound");
    says(words({first, second}), "ε adds up to 4 and δ to 2e-05");
    says(words({first, second}), "assumes that held-out perplexities concern units outside the contract");
    CHECK(to_json(sum_expense({first, second})).at("epsilon_sum") == 4);

    second.where.split = data_split{{"data.split_seed", "1"}};
    says(words({first, second}), "No sum of ε is given: the cells do not share one split");
    says(words({first, second}), "differ in data.split_seed");
    CHECK_FALSE(has(words({first, second}), "adds up"));
    CHECK(to_json(sum_expense({first, second})).at("epsilon_sum").is_null());
    CHECK(to_json(sum_expense({first, second})).at("delta_sum").is_null());
    // Where looks carry noise, every unit has the bound of every cell, whatever the splits.
    auto noised = first, other = second;
    noised.result.committed->held_out = other.result.committed->held_out = rldp::publication::noised;
    says(words({noised, other}), "ε adds up to 4 and δ to 2e-05");
    says(words({noised, other}), "for every unit of the data");
    says(words({noised, second}), "do not share one split");
    other.where.split = data_split{{"privacy.unit", "\"patient\""}};
    says(words({noised, other}), "protect different units");
    // one that has read nothing yet moves no one
    second.result = cell_in_state("static", 2, 1, cell_state::not_run).result;
    says(words({first, second}), "adds up to 2");

    auto unsound = done_cell("rldp_as_published", 2, 0, 5);
    unsound.result.committed->holds = false;
    says(words({first, unsound}), "No sum of ε is given: 1 cell read the data without any guarantee");
    CHECK_FALSE(has(words({first, unsound}), "adds up"));

    auto made_up = done_cell("static", 2, 1, 5);
    made_up.where.split.reset();
    says(words({made_up}), "1 cell read made-up records");
    CHECK_FALSE(has(words({made_up}), "adds up"));
    says(words({first, made_up}), "adds up to 2");
}

TEST_CASE("the rate of lowest mean is chosen, once all trials have ended, the first in a tie") {
    auto plan = make_plan("static");
    tune_over(plan, {0.0005, 0.002, 0.01});
    std::vector<measured> cells;
    const auto add = [&](std::size_t rate, std::int64_t seed, double end) {
        cells.push_back(done_cell("static", 2, seed, end));
        cells.back().where.trial = true;
        cells.back().where.setting = rate;
    };
    add(0, 100, 7), add(0, 101, 9), add(1, 100, 8), add(1, 101, 8), add(2, 100, std::nan(""));
    auto all = tune(plan, cells);
    REQUIRE(all.size() == 1);
    CHECK(all[0].chosen == std::size_t{0});
    CHECK(all[0].setting == arm_setting{"train.lr=0.0005"});
    CHECK(all[0].at_edge);
    CHECK(all[0].failed == 1);
    add(1, 102, 5);
    all = tune(plan, cells);
    CHECK(all[0].chosen == std::size_t{1});
    CHECK_FALSE(all[0].at_edge);
    // A rate that some seeds don't survive is not chosen, however good the others are.
    add(1, 103, std::nan(""));
    CHECK(tune(plan, cells)[0].chosen == std::size_t{0});
    cells.push_back(cell_in_state("static", 2, 103, cell_state::unfinished));
    cells.back().where.trial = true;
    cells.back().where.setting = 0;
    CHECK_FALSE(tune(plan, cells)[0].chosen.has_value());
    // the cells at a rate: the common one where it is the base's, else the tuned one
    std::vector<measured> real = {done_cell("static", 2, 0, 5), done_cell("static", 2, 0, 4)};
    real[1].where.setting = 1;
    const auto at = [&](std::size_t rate) {
        return cells_at_own_rate(plan, real, {{.arm = "static", .epsilon = 2, .chosen = rate}});
    };
    CHECK(at(0) == std::vector<const measured*>{&real[0]});
    CHECK(at(1) == std::vector<const measured*>{&real[1]});
}

TEST_CASE("a mean curve has the steps that all finished seeds have") {
    const std::vector<measured> cells = {done_cell("static", 2, 0, 5, {{10, 8}, {20, 6}}),
                                         done_cell("static", 2, 1, 5, {{10, 4}}),
                                         cell_in_state("static", 2, 2, cell_state::unfinished)};
    const auto points = mean_over_seeds(common_cells(cells), [](const auto& line) { return line.eval_perplexity; });
    CHECK(points == curve{{10, 6}});
}

TEST_CASE("the files hold every cell, whatever became of it") {
    const auto plan = make_plan("static,rldp,rldp_as_published");
    auto unsound = done_cell("rldp_as_published", 2, 0, 3);
    unsound.result.summary->semantics = rldp::semantics::as_published;
    unsound.result.committed->holds = false;
    auto odd = done_cell("rldp", 2, 0, 4, {{50, 5}, {100, 4}});
    odd.where.id = "a,\"b\"";
    const auto report = make_report(plan,
                                    {done_cell("static", 2, 0, 5, {{50, 6}, {100, 5}}),
                                     cell_in_state("static", 2, 1, cell_state::failed), odd, unsound},
                                    "rldp compare <x>");
    const auto all = nlohmann::json::parse(compare_json(report));
    CHECK(all.at("cells").size() == 4);
    CHECK(all.at("cells")[1].at("state") == "failed");
    CHECK(all.at("cells")[2].at("curve") == nlohmann::json::parse("[[50,5.0],[100,4.0]]"));
    CHECK(all.at("cells")[3].at("guaranteed_epsilon").is_null());
    CHECK(all.at("at_common_lr").at("best_baselines")[0].at("best_baseline") == "static");
    CHECK(all.at("cost").at("epsilon_sum").is_null());
    CHECK(all.at("cost").at("cells_with_bound") == 2);
    CHECK(all.at("cost").at("cells_without_bound") == 1);

    const auto csv = compare_csv(report);
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 5);
    CHECK(has(csv, "\"a,\"\"b\"\"\""));
    CHECK(has(csv, "failed"));

    const auto page = compare_html(report);
    CHECK(has(page, "rldp compare &lt;x&gt;"));
    CHECK(has(page, "static-1: failed; see trusted/"));
    CHECK_FALSE(has(page, "<script"));
    CHECK(has(page, "no bound"));
    CHECK(has(page, "This comparison is not complete"));

    const auto text = compare_text(report);
    CHECK(has(text, "rldp_as_published (no guarantee)"));
    CHECK(has(text, "1 of 2"));
}

TEST_CASE("the page tells what tuning did") {
    auto plan = make_plan("static,rldp");
    tune_over(plan, {0.0005});
    plan.tune_seeds = {100};
    plan.tuning_records = 6000;
    const auto page = compare_html(make_report(plan, {done_cell("static", 2, 0, 5)}, "again"));
    CHECK(has(page, "Each method at its own learning rate"));
    CHECK(has(page, "not tuned yet"));
    CHECK(has(page, "6000 made-up records"));
}
