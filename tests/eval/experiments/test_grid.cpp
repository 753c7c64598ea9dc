// The cells of a grid, their names, and the file that says which grid a directory holds.
#include "eval/experiments/grid.hpp"

#include <algorithm>
#include <set>

#include "eval/experiments/compare_grid.hpp"
#include "eval/experiments/sweep.hpp"
#include "tests/catch.hpp"
#include "tests/eval/experiments/fixtures.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::eval;

namespace {

std::vector<std::string> ids(const std::vector<cell>& cells) {
    std::vector<std::string> out;
    for (const auto& one : cells) out.push_back(one.id);
    return out;
}

compare_options make_options(const std::string& methods, const std::string& epsilons, const std::string& seeds) {
    compare_options out;
    out.methods = methods;
    out.epsilons = epsilons;
    out.seeds = seeds;
    return out;
}

/// What tuning came to, of ε 2: the rate of this number.
tuned_arm chosen(const std::string& method, std::size_t rate) {
    return {.arm = method, .epsilon = 2, .settings = 2, .chosen = rate};
}

bool sets(const cell& one, const std::string& text) {
    return std::find(one.overrides.begin(), one.overrides.end(), text) != one.overrides.end();
}

}  // namespace

TEST_CASE("a comparison has a cell for every budget, method and seed, with legible names") {
    const auto plan = plan_compare(make_options("rldp,static", "0.5,2.0", "0,7"), fake_resolver());
    // methods in the order of tables, whatever the list's
    CHECK(ids(plan.common) == std::vector<std::string>{"static-eps0.5-seed0", "static-eps0.5-seed7",
                                                       "rldp-eps0.5-seed0", "rldp-eps0.5-seed7", "static-eps2-seed0",
                                                       "static-eps2-seed7", "rldp-eps2-seed0", "rldp-eps2-seed7"});
    const auto& one = plan.common[5];
    for (const char* text : {"method.name=\"static\"", "privacy.epsilon=2", "seed=7", "train.eval_records=512",
                             "noise.policy=null", "monitor.address=null"})
        CHECK(sets(one, text));
    CHECK_FALSE(plan.tunes());
    CHECK_FALSE(plan.made_up);
}

TEST_CASE("tuning adds made-up cells, and cells at the rates it chose unless they are there already") {
    auto given = make_options("static,rldp", "2", "0,1");
    given.tune_lr = "5e-4,0.005";
    given.tune_records = 1000;
    const auto plan = plan_compare(given, fake_resolver());
    REQUIRE(plan.common.size() == 4);
    REQUIRE(plan.trials.size() == 4);
    const auto& one = plan.trials[1];
    CHECK(one.number == 5);
    CHECK(one.id == "tune-static-eps2-seed100-lr0.005");
    CHECK(sets(one, "data.path=\"synthetic:1000\""));
    CHECK(sets(one, "data.ids_mapping=null"));
    CHECK(sets(one, "train.lr=0.005"));
    const auto own = tuned_cells(plan, {chosen("static", 0), chosen("rldp", 1)});
    CHECK(ids(own) == std::vector<std::string>{"rldp-eps2-seed0-lr0.005", "rldp-eps2-seed1-lr0.005"});
    CHECK_FALSE(sets(own[0], "data.path=\"synthetic:1000\""));
    CHECK(own[1].number == plan.common[3].number);  // whoever has the one at the base's rate has it
    given.tune_seeds = "100,1";
    says(refusal([&] { plan_compare(given, fake_resolver()); }), "--tune-seeds: 1 is one of --seeds");
}

TEST_CASE("tuning has as many records as keep the sampling rate") {
    auto given = make_options("static", "2", "0");
    given.tune_lr = "0.1";
    CHECK(plan_compare(given, fake_resolver()).tuning_records == 6000);
    CHECK(plan_compare(given, fake_resolver("synthetic:345")).tuning_records == 345);
    const auto with_population = [](const auto& overrides) {
        auto document = fake_resolver()(overrides);
        document["privacy"]["population"] = 73271;
        return document;
    };
    CHECK(plan_compare(given, with_population).tuning_records == 101766);
}

TEST_CASE("a sweep has a cell for every combination, the last key fastest") {
    const auto plan = plan_sweep({"rl.interval=16,32", "rl.batch=4"}, "0,1", fake_resolver());
    REQUIRE(plan.cells.size() == 4);
    CHECK(plan.cells[0].id == "rl.interval=16,rl.batch=4,seed=0");
    CHECK(plan.cells[1].id == "rl.interval=16,rl.batch=4,seed=1");
    CHECK(plan.cells[2].arm == "rl.interval=32,rl.batch=4");
    CHECK(sets(plan.cells[2], "rl.interval=32"));
    CHECK(sets(plan.cells[3], "seed=1"));
    const auto own_seed = plan_sweep({"rl.batch=4,8"}, "", fake_resolver());
    CHECK(own_seed.cells[1].id == "rl.batch=8");
    CHECK_FALSE(sets(own_seed.cells[1], "seed=0"));
}

TEST_CASE("all cells of a grid on real data share one split, whatever their seed") {
    auto given = make_options("static,rldp", "2,4", "0,7");
    given.tune_lr = "5e-4,0.005";
    const auto plan = plan_compare(given, fake_resolver());
    auto cells = plan.common;
    for (const auto& more : {plan.trials, tuned_cells(plan, {chosen("static", 1)})})
        cells.insert(cells.end(), more.begin(), more.end());
    const auto& first = cells.front().split;
    REQUIRE(first.has_value());
    CHECK(first->at("data.split_seed") == "42");
    CHECK(first->at("data.path") == "\"/data/real.csv\"");
    for (const auto& one : cells) {
        INFO(one.id);
        if (one.trial)
            CHECK_FALSE(one.split.has_value());  // its records are made up
        else
            CHECK(one.split == first);
    }
    for (const auto& one : plan_sweep({"rl.batch=4,8", "data.max_tokens=8,16"}, "0,7", fake_resolver()).cells)
        CHECK(one.split == first);
    // its seed is a part of what the grid is
    CHECK(value_at(plan.what.base, "data.split_seed") == 42);
}

TEST_CASE("on made-up data each seed has a split of its own, which is nobody's") {
    const auto plan = plan_compare(make_options("static", "2", "0,7"), fake_resolver("synthetic:300"));
    CHECK(sets(plan.common[1], "data.split_seed=7"));
    for (const auto& one : plan.common) CHECK_FALSE(one.split.has_value());
    CHECK(value_at(plan.what.base, "data.split_seed").is_null());
    const auto sweep = plan_sweep({"data.path=\"synthetic:300\",\"/data/real.csv\""}, "", fake_resolver());
    CHECK_FALSE(sweep.cells[0].split.has_value());
    CHECK(sweep.cells[1].split.has_value());
}

TEST_CASE("a key that moves real units between the sides splits a sweep") {
    for (const std::string keys :
         {"data.split_seed=1,2", R"(data.split="hash","exact")", R"(privacy.unit="record",{"group":"patient"})",
          R"(data.path="/a.csv","/b.csv")", "data.canaries=0,10", "audit.canaries=0,10", "audit.shadow=0,1"}) {
        INFO(keys);
        const auto plan = plan_sweep({keys}, "", fake_resolver());
        CHECK(plan.cells[0].split != plan.cells[1].split);
        CHECK(keys_that_differ({*plan.cells[0].split, *plan.cells[1].split}) ==
              std::vector<std::string>{keys.substr(0, keys.find('='))});
    }
}

TEST_CASE("neither template nor model moves a unit, but for the key that a template names") {
    const scratch_directory scratch;
    const auto told = [&](const std::string& name, const std::string& more) {
        return "\"" +
               scratch.write(name, R"({"opening": "A row.", "missing": [""], "unknown": "{label} is unknown.", )" +
                                       more + R"("clause": "{label}: {value}."})") +
               "\"";
    };
    const auto differ = [](const std::string& keys) {
        const auto plan = plan_sweep({keys}, "", fake_resolver());
        return keys_that_differ({*plan.cells[0].split, *plan.cells[1].split});
    };
    const auto one = told("one.json", ""), other = told("other.json", R"("leave_out": ["age"], )"),
               keyed = told("keyed.json", R"("record": "visit", )");
    CHECK(differ("data.template=" + one + "," + other).empty());
    CHECK(differ("data.template=" + one + "," + keyed) == std::vector<std::string>{"data.template"});
    CHECK(differ("data.template=null," + one) == std::vector<std::string>{"data.template"});
    CHECK(differ("model.path=/a,/b").empty());
}

TEST_CASE("values that are lists or paths make directory names without slashes and spaces, all different") {
    const auto plan =
        plan_sweep({R"(rl.actions=["radii"],["radii","noise"])", "model.path=a/b,a b,a_b"}, "", fake_resolver());
    REQUIRE(plan.cells.size() == 6);
    CHECK(plan.cells[0].at.at("rl.actions") == R"(["radii"])");
    CHECK(plan.cells[3].id == "rl.actions=radii_noise,model.path=a_b");
    std::set<std::string> names;
    for (const auto& one : plan.cells) {
        names.insert(one.id);
        CHECK(one.id.find_first_of("/ ") == std::string::npos);
    }
    CHECK(names.size() == 6);
    const auto long_one =
        plan_sweep({"model.path=" + std::string(400, 'x') + "," + std::string(400, 'x') + "y"}, "3", fake_resolver());
    CHECK(long_one.cells[0].id.size() < 200);
    CHECK(long_one.cells[0].id != long_one.cells[1].id);
}

TEST_CASE("bad lists, methods, keys and values are refused in one line that names them") {
    const auto compare = [](const std::string& methods, const std::string& epsilons, const std::string& seeds) {
        return refusal([&] { plan_compare(make_options(methods, epsilons, seeds), fake_resolver()); });
    };
    says(compare("statik", "2", "0"), "--methods: statik is not known");
    says(compare("", "2", "0"), "--methods");
    says(compare("all", "2,,3", "0"), "--epsilons: \"2,,3\" has an empty part");
    says(compare("all", "2,2.0", "0"), "--epsilons: 2.0 is there twice");
    for (const std::string wrong : {"0", "-1", "inf", "nan", "2x", "two"})
        says(compare("all", wrong, "0"), "--epsilons: " + wrong + " is no finite number above 0");
    for (const std::string wrong : {"-1", "1.5", "x"})
        says(compare("all", "2", wrong), "--seeds: " + wrong + " is no whole number from 0");
    const auto sweep = [](const std::vector<std::string>& keys, const std::string& seeds = "") {
        return refusal([&] { plan_sweep(keys, seeds, fake_resolver()); });
    };
    says(sweep({"rl.intervall=1"}), "--grid rl.intervall: unknown key; did you mean rl.interval?");
    says(sweep({"rl.interval"}), "not of the form key=v1,v2");
    says(sweep({"rl.interval="}), "--grid rl.interval");
    says(sweep({"rl.batch=4", "rl.batch=8"}), "--grid rl.batch: is given twice");
    says(sweep({"rl.batch=4,4"}), "4 is there twice");
    says(sweep({"seed=1,2"}, "0"), "--grid seed: --seeds sets that key");
    says(sweep({"rl.batch=4,bad"}), "cell rl.batch=bad: --set rl.batch=bad: refused");
}

TEST_CASE("a base without a sound contract is refused") {
    const auto unsound = [](const auto& overrides) {
        auto document = fake_resolver()(overrides);
        document["privacy"]["semantics"] = "as_published";
        return document;
    };
    says(refusal([&] { plan_compare(make_options("all", "2", "0"), unsound); }), "needs a sound base");
    says(refusal([&] { plan_compare(make_options("rldp,rldp_random", "2", "0"), fake_resolver()); }),
         "rldp_random is a control of a controller; say which one");
}

TEST_CASE("the groups of methods") {
    const auto names = [](const std::string& list) {
        std::set<std::string> out;
        for (const auto& one : methods_from(list)) out.insert(one.name);
        return out;
    };
    CHECK(names("all").size() == 16);
    CHECK(names("all").count("rldp_as_published") == 1);
    CHECK(names("controls").size() == 7);
    CHECK(names("controls").count("rldp") == 0);
    CHECK(names("all,controls").size() == compared_methods().size());
    CHECK(names("controls,rldp").size() == 8);
}

TEST_CASE("a directory of another grid is refused, naming the first difference") {
    const scratch_directory scratch;
    const auto plan = plan_compare(make_options("static", "2", "0"), fake_resolver());
    const auto out = scratch.path() / "grid";
    claim_directory(out, plan.what);
    claim_directory(out, plan.what);  // the same: go on
    const auto claim = [&](const grid& other) { return refusal([&] { claim_directory(out, other); }); };
    says(claim(plan_compare(make_options("static", "2,4", "0"), fake_resolver()).what),
         "axis epsilon is 2 there and 2,4 here");
    auto other = plan.what;
    other.base["train"]["lr"] = 0.1;
    says(claim(other), "key train.lr is 0.0005 there and 0.1 here");
    other = plan.what;
    other.base["train"].erase("lr");
    says(claim(other), "key train.lr is 0.0005 there and absent here");
    says(claim(plan_sweep({"rl.batch=4"}, "", fake_resolver()).what), "it is a compare there and a sweep here");
    auto earlier = to_json(plan.what);
    earlier.erase("layout");
    rldp::write_file(out / "grid.json", earlier.dump());
    says(claim(plan.what), "grid.json: is of another version of rldp");
    rldp::write_file(out / "grid.json", "{}");
    says(claim(plan.what), "describes no grid");
    std::filesystem::remove(out / "grid.json");
    rldp::write_file(out / "cells" / "x", "");
    says(claim(plan.what), "is missing, but there are cells beside it");
}

TEST_CASE("a directory that holds a run, or anything else, is no place for a grid") {
    const scratch_directory at;
    const auto plan = plan_compare(make_options("static", "2", "0"), fake_resolver());
    std::filesystem::create_directories(at / "run/public");
    const auto line = refusal([&] { claim_directory(at / "run", plan.what); });
    CHECK(line == (at / "run").string() + ": holds public, which is no grid's; choose another --out");
    CHECK_FALSE(std::filesystem::exists(at / "run/cells"));
    std::filesystem::create_directories(at / "cut/cells");  // by a kill, before its description
    CHECK_NOTHROW(claim_directory(at / "cut", plan.what));
}

TEST_CASE("what all cells set is no part of a grid's description") {
    const auto plan = plan_compare(make_options("static", "2", "0"), fake_resolver());
    for (const char* key : {"seed", "method.name", "privacy.epsilon"}) CHECK(value_at(plan.what.base, key).is_null());
    const auto sweep = plan_sweep({"train.lr=0.1"}, "", fake_resolver());
    CHECK(value_at(sweep.what.base, "train.lr").is_null());
    CHECK(value_at(sweep.what.base, "seed") == 42);
}

TEST_CASE("an --only list restricts the cells of this invocation") {
    auto given = make_options("static,rldp", "0.5,2", "0,1");
    given.tune_lr = "0.1,0.2";
    const auto plan = plan_compare(given, fake_resolver());
    const auto count = [&](const std::vector<std::string>& only) {
        const auto chosen = selection_from(only, plan.what.axes);
        auto cells = plan.common;
        cells.insert(cells.end(), plan.trials.begin(), plan.trials.end());
        return std::count_if(cells.begin(), cells.end(), [&](const auto& one) { return selects(chosen, one); });
    };
    CHECK(count({}) == 8 + 8);
    CHECK(count({"method=rldp"}) == 4 + 4);
    CHECK(count({"method=rldp", "epsilon=2.0", "stage=common"}) == 2);
    CHECK(count({"seed=0"}) == 4 + 8);  // tuning has no such axis
    CHECK(count({"tune_lr=0.1"}) == 8 + 4);
    const auto wrong = [&](const std::vector<std::string>& only) {
        return refusal([&] { selection_from(only, plan.what.axes); });
    };
    says(wrong({"methods=rldp"}), "--only methods: the grid has no such axis");
    says(wrong({"method=psac"}), "psac is no value of that axis; it has static,rldp");
    says(wrong({"method"}), "not of the form");
    says(wrong({"seed=0", "seed=1"}), "given twice");
}
