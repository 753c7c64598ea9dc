#include "eval/research/preparation/real_runs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "config/config.hpp"
#include "tests/eval/research/preparation/written.hpp"
// Behind what brings torch, whose CHECK is another.
#include "tests/catch.hpp"

using namespace rldp::testing;
using rldp::eval::draw_runs;

namespace {

std::string find_value(const rldp::eval::run_task& of, const std::string& key) {
    for (const auto& text : of.set)
        if (text.starts_with(key + "=")) return text.substr(key.size() + 1);
    return "";
}

}  // namespace

TEST_CASE("the preparation file that ships can be read, and its tasks are sound configurations") {
    const auto terms = rldp::eval::read_preparation("config/policies/prepare.json").runs;
    for (const auto* side : {&terms.prepared, &terms.held_out})
        for (auto& one : draw_runs(*side, terms, 1, 0, 6)) {
            one.set.emplace_back("rl.controller=policy");
            CAPTURE(one.name);
            CHECK_NOTHROW(rldp::config::load(one.base, one.set));
        }
}

TEST_CASE("tasks follow from the seed and their number, family by family, within their ranges") {
    const auto terms = read(written).runs;
    const auto all = draw_runs(terms.prepared, terms, 7, 0, 200);
    const auto later = draw_runs(terms.prepared, terms, 7, 150, 50);
    REQUIRE(all.size() == 200);
    std::set<std::string> worlds, steps;
    double least = 1, most = 1;
    std::map<std::string, double> usual;  // of a plan's steps and bands: the rate that is put off
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& one = all[i];
        if (i >= 150) {
            CHECK(one.set == later[i - 150].set);
            CHECK(one.name == later[i - 150].name);
        }
        const bool brief = i % 2 == 0;
        CHECK(one.name.starts_with(brief ? "brief-" : "wide-"));
        CHECK(find_value(one, "data.path").starts_with(brief ? "\"synthetic:300@" : "\"synthetic:400@"));
        CHECK(find_value(one, "noise.insecure_reproducible") == "true");
        worlds.insert(find_value(one, "data.path"));
        if (brief) steps.insert(find_value(one, "train.steps"));
        const double rate = std::stod(find_value(one, "train.lr")) / one.offset;
        const auto plan = find_value(one, "train.steps") + " " + find_value(one, "noise.bands");
        CHECK(rate == Approx(usual.emplace(plan, rate).first->second).epsilon(1e-4));
        least = std::min(least, one.offset);
        most = std::max(most, one.offset);
    }
    CHECK(worlds.size() > 195);
    CHECK(steps == std::set<std::string>{"16", "24", "32"});
    CHECK((least >= 0.25 && least < 0.3));
    CHECK((most <= 4 && most > 3.4));
    // 0.014·√(60/steps), twice that in bands, of two digits.
    REQUIRE(usual.size() == 4);
    CHECK(usual.at("16 1") == Approx(0.027).epsilon(1e-4));
    CHECK(usual.at("24 1") == Approx(0.022).epsilon(1e-4));
    CHECK(usual.at("32 1") == Approx(0.019).epsilon(1e-4));
    CHECK(usual.at("32 4") == Approx(0.038).epsilon(1e-4));
    CHECK(draw_runs(terms.prepared, terms, 8, 0, 1)[0].set != all[0].set);
}
