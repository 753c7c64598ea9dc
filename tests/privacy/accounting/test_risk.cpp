// What an attacker can tell: against riskcal's curves, closed forms and what must hold of any curve.
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/error.hpp"
#include "privacy/accounting/gdp.hpp"
#include "privacy/accounting/risk.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

nlohmann::json risk_cases() {
    std::ifstream file("../shared/golden/accounting/risk.json");
    if (!file) {
        WARN("skipped: no shared data");
        return nlohmann::json::array();
    }
    return nlohmann::json::parse(file);
}

double gaussian_share(double at) {
    return std::erfc(-at / std::sqrt(2.0)) / 2;
}

}  // namespace

TEST_CASE("an attacker's rates are riskcal's, never below and little above") {
    for (const auto& golden : risk_cases()) {
        CAPTURE(golden.at("phases").dump());
        std::vector<phase> phases;
        for (const auto& r : golden.at("phases"))
            phases.push_back({r.at("noise_multiplier"), r.at("sample_rate"), r.at("steps")});
        const trade_off curve(phases);
        const auto& rates = golden.at("false_positive_rate");
        for (std::size_t i = 0; i < rates.size(); ++i) {
            const double rate = rates[i];
            CAPTURE(rate);
            const double theirs = golden.at("true_positive_rate").at(i), ours = curve.true_positive_rate(rate);
            CHECK(ours >= std::min(theirs, 1.0) - 1e-4);
            CHECK(ours <= theirs + 2e-3);
            if (golden.contains("closed_form_true_positive_rate"))
                CHECK(ours >= golden["closed_form_true_positive_rate"].at(i).get<double>());
        }
        const double advantage = golden.at("advantage");
        CHECK(curve.advantage() >= std::min(advantage, 1.0) - 1e-4);
        CHECK(curve.advantage() <= advantage + 2e-3);
        if (!golden.at("mu_at_these_rates").is_null() && curve.true_positive_rate(0.5) < 1)
            CHECK(curve.cover().mu >= golden["mu_at_these_rates"].get<double>() - 1e-3);
    }
}

TEST_CASE("a Gaussian's attacker is the closed form's, and is covered by itself") {
    for (const double z : {0.7, 2.0, 9.0}) {
        const phase one{z, 1, 3};
        const trade_off curve({&one, 1});
        const double mu = std::sqrt(3.0) / z;
        CHECK(curve.cover().mu == Approx(mu).epsilon(2e-3));
        CHECK(curve.cover().mu >= mu);
        CHECK(curve.cover().excess < 2e-3);
        CHECK(curve.advantage() == Approx(2 * gaussian_share(mu / 2) - 1).margin(5e-4));
    }
}

TEST_CASE("an attacker's curve rises, is concave, and is symmetric") {
    std::mt19937 random(7);
    for (int i = 0; i < 6; ++i) {
        const phase steps{std::uniform_real_distribution(0.6, 3.0)(random),
                          std::uniform_real_distribution(0.001, 0.3)(random),
                          std::uniform_int_distribution<std::int64_t>(1, 300)(random)};
        CAPTURE(steps.noise_multiplier, steps.sample_rate, steps.steps);
        const trade_off curve({&steps, 1});
        double before = curve.true_positive_rate(0), slope = infinity;
        for (double rate = 0.02; rate < 1; rate += 0.02) {
            const double here = curve.true_positive_rate(rate);
            CHECK(here >= before);
            CHECK((here - before) / 0.02 <= slope + 1e-9);
            slope = (here - before) / 0.02;
            CHECK(1 - curve.true_positive_rate(1 - here) <= rate + 1e-3);
            before = here;
        }
        CHECK(curve.true_positive_rate(1) == 1);
    }
}

TEST_CASE("of (ε, δ) alone an attacker is what it allows, and δ adds up") {
    const trade_off curve(2, 1e-5);
    CHECK(curve.true_positive_rate(0.01) == Approx(std::exp(2.0) * 0.01 + 1e-5));
    CHECK(curve.true_positive_rate(0.5) == Approx(1 - std::exp(-2.0) * (0.5 - 1e-5)));
    CHECK(curve.advantage() == Approx((std::exp(2.0) - 1 + 2e-5) / (std::exp(2.0) + 1)));
    const phase steps{1.1, 0.02, 200};
    const trade_off plain({&steps, 1}), padded({&steps, 1}, 0.01);
    for (const double rate : shown_rates)
        CHECK(padded.true_positive_rate(rate) == Approx(plain.true_positive_rate(rate) + 0.01).margin(1e-3));
    // The curve knows more than one of its points.
    const double epsilon = make_accountant("pld")->epsilon({&steps, 1}, 1e-5);
    for (const double rate : shown_rates)
        CHECK(plain.true_positive_rate(rate) < trade_off(epsilon, 1e-5).true_positive_rate(rate));
    CHECK(trade_off(0, 0).true_positive_rate(0.1) == Approx(0.1));
    CHECK(trade_off(0, 0).advantage() == 0);
    const auto worse = plain.worse_of(trade_off(0.1, 0));
    CHECK(worse.true_positive_rate(0.01) == plain.true_positive_rate(0.01));
}

TEST_CASE("risks of what is no number are refused") {
    const phase steps{1, 0.1, 10};
    CHECK_THROWS_AS(trade_off({&steps, 1}, -0.1), rldp::error);
    CHECK_THROWS_AS(trade_off(infinity, 0), rldp::error);
    CHECK_THROWS_AS(trade_off(-1, 0), rldp::error);
    CHECK_THROWS_AS(trade_off(std::nan(""), 0), rldp::error);
    CHECK_THROWS_AS(trade_off(1, 2), rldp::error);
    CHECK_THROWS_AS(trade_off(1, 0).true_positive_rate(-0.1), rldp::error);
}
