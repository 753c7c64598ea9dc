#include "eval/research/preparation/preparation_page.hpp"

#include <cstdlib>

#include "tests/rl/prepared/made_up_policy.hpp"
#include "tests/support/refusal.hpp"
// Behind what brings torch, whose CHECK is another.
#include "tests/catch.hpp"

using namespace rldp;

namespace {

rl::prepared_policy policy_with(const std::string& figures) {
    auto parts = made_up_parts();
    parts.figures = figures;
    return rl::prepared_policy(std::move(parts));
}

const std::string whole = R"({"tasks":"runs","families":["<one>","other"],"held_out":["third"],"seed":1,
    "curves":{"schedule":[-0.1,-0.2],"rule":[-0.2,null]},
    "gains":{"<one>":{"mean":-0.105361,"standard_error":0.01,"wins":0.75},
             "third":{"mean":0.0,"standard_error":0.01,"wins":0.5}},
    "gate":{"hindsight":{"mean":-0.3567,"standard_error":0.01,"wins":0.9},"deaf":{"mean":0.01,"standard_error":0.01,"wins":0.4},
            "policy":{"mean":-0.2231,"standard_error":0.01,"wins":0.7},
            "feedback":{"mean":-0.2,"standard_error":0.01,"wins":0.7},
            "nobody":{"third":{"mean":0.0953,"standard_error":0.01,"wins":0.1}}},
    "before":{"residual_curve":[0.1,-0.01]}})";

std::size_t count(const std::string& text, const std::string& word) {
    std::size_t out = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++out;
    return out;
}

}  // namespace

TEST_CASE("a preparation's page tells gate and gains in per cent, and which families were held out") {
    const eval::rate_path path{"third-0", 0.25, {{0.5, 1}, {0.75, 2}, {1, 3}}};
    const auto page = eval::preparation_html(policy_with(whole), {path});
    CHECK(has(page, "which passed its gate"));
    CHECK(has(page, "the best schedule of each task"));
    CHECK(has(page, "-30.0 %"));
    CHECK(has(page, "mean timetable, deaf to the run"));
    CHECK(has(page, "-20.0 %"));            // the gate's policy
    CHECK(has(page, "-21.5 % … -18.4 %"));  // with its interval
    CHECK(has(page, "at the rates that are chosen: third"));
    CHECK(has(page, "+10.0 %"));  // than where nobody steers
    CHECK(has(page, "-10.0 %"));  // family one
    CHECK(has(page, "&lt;one&gt;"));
    CHECK_FALSE(has(page, "<one>"));
    CHECK(count(page, "prepared on, other tasks") == 1);
    CHECK(count(page, ">held out<") == 1);
    if (std::system("command -v gnuplot > /dev/null") == 0) {
        CHECK(count(page, "<svg") == 3);
    } else {
        CHECK(has(page, "install gnuplot"));
    }
    CHECK(has(page, "softness"));
    CHECK(has(page, "per log of bands"));
    CHECK(has(page, "-0.050"));  // under the rule, per log z√D/B
    CHECK(has(page, "-0.030"));  // of the best that is deaf
}

TEST_CASE("what a policy's file doesn't tell is left out of its page, and what it tells wrongly breaks nothing") {
    const auto bare = eval::preparation_html(policy_with(R"({"families":["few"]})"), {});
    CHECK_FALSE(has(bare, "<figure "));
    CHECK(has(bare, "The rule"));
    for (const std::string wrong : {R"({"gate":{"policy":7}})", R"({"gains":{"a":{"mean":"x"}},"held_out":[]})"})
        CHECK(has(eval::preparation_html(policy_with(wrong), {}), "its file tells no more"));
}
