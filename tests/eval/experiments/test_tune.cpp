// rldp tune: which trials there are, which of them wins, and what is said of them.
#include "eval/experiments/tune.hpp"

#include <cmath>
#include <set>

#include "privacy/spending/account.hpp"
#include "tests/catch.hpp"
#include "tests/eval/experiments/fixtures.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::eval;

namespace {

resolver with_looks(const std::string& publish = "private") {
    return [publish](std::vector<std::string> overrides) {
        overrides.insert(overrides.begin(), "eval.publish=" + publish);
        return fake_resolver()(overrides);
    };
}

tune_plan plan_three() {
    return plan_tune({"train.lr=0.001,0.01,0.1"}, {}, with_looks());
}

const tune_price price{.runs = 4,
                       .epsilon_guaranteed = 2,
                       .delta = 1e-5,
                       .noise_multiplier = 1.12,
                       .alone = 1,
                       .look_noise_multiplier = 6,
                       .look_alone = 3,
                       .epsilon_of_one = 1.25};

std::vector<measured> ended(const tune_plan& plan, const std::vector<double>& scores) {
    std::vector<measured> out;
    for (std::size_t i = 0; i < scores.size(); ++i)
        out.push_back({plan.trials[i], done_cell("rldp", 2, 0, scores[i], {{100, 9}}).result});
    return out;
}

std::string not_tuned(const std::vector<std::string>& keys, std::optional<std::int64_t> trials = {},
                      const std::string& publish = "private") {
    return refusal([&] { plan_tune(keys, trials, with_looks(publish)); });
}

}  // namespace

TEST_CASE("trials are the grid, and each is one of all runs") {
    const auto plan = plan_tune({"train.lr=0.001,0.01", "clip.max=0.1,1"}, {}, with_looks());
    REQUIRE(plan.trials.size() == 4);
    CHECK(plan.runs() == 5);
    CHECK(plan.trials[0].id == "trial-1");
    CHECK(plan.trials[3].arm == "train.lr=0.01,clip.max=1");
    for (const auto& one : plan.trials) {
        CHECK(one.trial);
        CHECK(std::find(one.overrides.begin(), one.overrides.end(), "privacy.runs=5") != one.overrides.end());
    }
    // Another number of trials is another tuning.
    CHECK(value_at(plan.what.base, "privacy.runs") == 5);
    CHECK(value_at(plan.what.base, "train.lr").is_null());
    CHECK(make_experiment(plan, price).one_account);
}

TEST_CASE("of a larger grid so many settings are drawn by the public seed, none twice") {
    const std::vector<std::string> grid = {"train.lr=0.001,0.002,0.005,0.01,0.02,0.05", "clip.max=0.1,0.2,0.5,1"};
    const auto drawn = [&](const std::string& seed) {
        const auto plan = plan_tune(grid, 7, [&](std::vector<std::string> overrides) {
            overrides.push_back("seed=" + seed);
            return with_looks()(overrides);
        });
        std::vector<std::string> out;
        for (const auto& one : plan.trials) out.push_back(one.arm);
        return out;
    };
    const auto first = drawn("1");
    CHECK(first.size() == 7);
    CHECK(std::set<std::string>(first.begin(), first.end()).size() == 7);
    CHECK(drawn("1") == first);
    CHECK(drawn("2") != first);
}

TEST_CASE("what can't be tuned within one budget is refused in a line") {
    for (const char* priced :
         {"train.steps=10,20", "train.expected_batch_size=8,16", "noise.bands=1,4", "noise.policy=fixed,deck",
          "privacy.epsilon=1,2", "data.split_seed=1,2", "rl.interval=4,8"})
        says(not_tuned({priced}), "may change what a run costs");
    says(not_tuned({"train.rate=1,2"}), "unknown key");
    says(not_tuned({"train.lr"}), "not of the form");
    says(not_tuned({}), "at least one --grid");
    says(not_tuned({"train.lr=0.1"}), "1 trial leaves nothing to choose");
    says(not_tuned({"train.lr=0.1,0.2"}, 1), "1 trial leaves nothing to choose");
    says(not_tuned({"train.lr=0.1,0.2"}, 0), "0 trial");
    says(not_tuned({"train.lr=0.1,0.2"}, 3), "--trials 3: the grid has 2 settings");
    says(not_tuned({"train.lr=0.1,0.2"}, {}, "none"), "eval.publish is \"none\"");
    says(not_tuned({"train.lr=0.1,0.2"}, {}, "raw"), "give \"private\"");
    says(not_tuned({"train.lr=0.1,bad"}), "cell trial-2");
    std::string many = "train.lr=0.1";
    for (int i = 1; i < 120; ++i) many += ",0.1" + std::to_string(i);
    says(not_tuned({many}), "at most 99");
    says(not_tuned({many, "clip.max" + many.substr(8), "clip.min" + many.substr(8)}, 5), "more than 100000 settings");
}

TEST_CASE("the lowest score wins, of equal ones the first, and nobody before all are over") {
    const auto plan = plan_three();
    CHECK(find_winner(ended(plan, {7, 5, 5}))->where.id == "trial-2");
    CHECK(find_winner(ended(plan, {std::nan(""), 5, INFINITY}))->where.id == "trial-2");
    CHECK(find_winner(ended(plan, {std::nan(""), INFINITY, std::nan("")}))->where.id == "trial-1");
    for (const auto state : {cell_state::not_run, cell_state::unfinished, cell_state::failed}) {
        auto open = ended(plan, {7, 5, 6});
        open[2].result = cell_in_state("rldp", 2, 0, state).result;
        CHECK(find_winner(open) == nullptr);
        // What can't go on is waited for no longer.
        open[2].result.lost = state == cell_state::failed;
        if (open[2].result.lost) CHECK(find_winner(open)->where.id == "trial-2");
    }
    CHECK(find_winner({}) == nullptr);
    const auto last = make_final(plan, plan.trials[1]);
    CHECK(last.id == "final");
    CHECK_FALSE(last.trial);
    CHECK(last.overrides == plan.trials[1].overrides);
}

TEST_CASE("the final run begins once the trials have chosen it") {
    const auto plan = plan_three();
    const auto what = make_experiment(plan, price);
    REQUIRE(what.stages.size() == 2);
    CHECK(what.stages[0]({}).size() == 3);
    auto trials = ended(plan, {7, 5, 6});
    REQUIRE(what.stages[1](trials).size() == 1);
    CHECK(what.stages[1](trials)[0].arm == "train.lr=0.01");
    trials[0].result = {};
    CHECK(what.stages[1](trials).empty());
    // Looks on the way are no score, whatever the summary ends with.
    trials = ended(plan, {7, 5, 6});
    trials[1].result.metrics[0].step = 50;
    CHECK(what.stages[1](trials)[0].arm == "train.lr=0.1");
    for (auto& one : trials) one.result.metrics.clear();
    says(refusal([&] { what.stages[1](trials); }), "no trial made its last look");
    CHECK(what.stages[1]({}).empty());
}

TEST_CASE("a trial that was begun and removed is lost") {
    const scratch_directory scratch;
    std::filesystem::create_directories(scratch / "trusted");
    rldp::privacy::ledger_content begun;
    begun.header.delta = 1e-5;
    begun.header.sample_rate = 0.01;
    begun.header.population = 6400;
    begun.header.steps = 20;
    begun.header.policy = "fixed";
    begun.header.accountant = "pld";
    begun.header.unit = "record";
    begun.header.split = "hash";
    begun.header.epsilon_budget = begun.header.epsilon_guaranteed = 1;
    begun.header.runs = 3;
    begun.header.data_hmac = std::string(64, 'a');
    begun.header_hash = std::string(64, 'b');
    const auto is_lost = [&](const std::string& id) { return read_result({scratch / ".", id}).lost; };
    CHECK_FALSE(is_lost("trial-1"));
    rldp::privacy::enter_account(scratch / ".", {"cells/trial-1", begun, scratch / "mark", "data", "split"});
    CHECK(is_lost("trial-1"));
    CHECK_FALSE(is_lost("trial-2"));
}

TEST_CASE("a tuning's files say what it cost and what was chosen") {
    const auto plan = plan_three();
    auto cells = ended(plan, {7, 5, 6});
    const auto undecided = make_report(plan, price, {cells[0], cells[1], {plan.trials[2], {}}}, "rldp tune");
    CHECK_FALSE(undecided.winner);
    CHECK(nlohmann::json::parse(tune_json(undecided)).at("winner").is_null());
    says(tune_text(undecided), "not run");
    cells.push_back({make_final(plan, cells[1].where), done_cell("rldp", 2, 0, 5.5).result});
    const auto files = make_experiment(plan, price).report(cells, "rldp tune <x>");
    const auto all = nlohmann::json::parse(files.json);
    CHECK(all.at("winner") == "trial-2");
    CHECK(all.at("trials").size() == 3);
    CHECK(all.at("final").at("values").at("train.lr") == "0.01");
    CHECK(all.at("price").at("runs") == 4);
    says(files.text, "noise multiplier 1.1200 instead of 1.0000 (+12.0 %)");
    says(files.text, "4 runs, 3 trials and the final one, share ε = 2");
    says(files.text, "chosen");
    says(files.html, "rldp tune &lt;x&gt;");
    says(files.csv, "trial-3,train.lr=0.1,");
}
