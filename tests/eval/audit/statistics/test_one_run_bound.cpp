#include "eval/audit/statistics/one_run_bound.hpp"

#include <algorithm>
#include <cmath>

#include "tests/support/refusal.hpp"
#include "tests/support/simulated.hpp"

#include "tests/catch.hpp"

using namespace rldp::eval;

TEST_CASE("the p-value is the one of the theorem") {
    CHECK(one_run_p_value({100, 100, 75}, std::log(3), 0) == Approx(0.553470823848248).epsilon(1e-10));
    // Summed as the formula says with 30 digits (mpmath).
    CHECK(one_run_p_value({20, 10, 9}, 0.5, 0.001) == Approx(0.0700473102746147).epsilon(1e-10));
    CHECK(one_run_p_value({40, 20, 17}, 1, 0.003) == Approx(0.216769525689809).epsilon(1e-10));
    CHECK(one_run_p_value({10, 10, 10}, 0, 0) == Approx(std::exp2(-10)).epsilon(1e-12));
    CHECK(one_run_p_value({10, 10, 0}, 0, 0.1) == 1);
    CHECK(one_run_p_value({1000, 1000, 900}, 2, 0.5) == 1);
}

TEST_CASE("the bound is the published one") {
    CHECK(epsilon_lower_bound({1000, 100, 75}, 1e-4, 0.05) == Approx(0.67298).margin(5e-6));
    CHECK(epsilon_lower_bound({100000, 1510, 1439}, 1e-5, 0.05) == Approx(2.67585).margin(5e-6));
    CHECK(epsilon_lower_bound({200, 200, 200}, 1e-5, 0.05) == Approx(4.19).margin(5e-3));
    CHECK(epsilon_lower_bound({1000, 1000, 1000}, 1e-5, 0.05) == Approx(5.78).margin(5e-3));
    // All right without δ: q^r = β.
    const double q = std::pow(0.05, 1.0 / 50);
    CHECK(epsilon_lower_bound({50, 50, 50}, 0, 0.05) == Approx(std::log(q / (1 - q))).epsilon(1e-8));
}

TEST_CASE("the bound for a Gaussian's curve is that of the paper's recursion") {
    // Run with Python's NormalDist by the steps of jax_privacy's _epsilon_one_run_fdp, bisected to the last digit.
    CHECK(mu_lower_bound({1000, 500, 500}, 0.025) == Approx(1.8293698591586218).margin(2e-9));
    CHECK(mu_lower_bound({1000, 500, 399}, 0.025) == Approx(0.47095621158236045).margin(2e-9));
    CHECK(mu_lower_bound({1000, 500, 293}, 0.025) == Approx(0.08045753279107169).margin(2e-9));
    CHECK(mu_lower_bound({100000, 1510, 1439}, 0.05) == Approx(0.7838593058504993).margin(2e-9));
    CHECK(mu_lower_bound({1000, 1000, 1000}, 0.05) == Approx(2.368073900401659).margin(2e-9));
    CHECK(mu_lower_bound({400, 200, 112}, 0.05) == 0);
    CHECK(mu_lower_bound({1000, 500, 0}, 0.05) == 0);
    CHECK(mu_lower_bound({1000, 0, 0}, 0.05) == 0);
}

TEST_CASE("what chance explains has the bound 0") {
    CHECK(epsilon_lower_bound({100, 100, 50}, 0, 0.05) == 0);
    CHECK(epsilon_lower_bound({100, 100, 0}, 0, 0.05) == 0);
    CHECK(epsilon_lower_bound({100, 0, 0}, 0, 0.05) == 0);
    CHECK(epsilon_lower_bound({100, 4, 4}, 0, 0.05) == 0);  // 1/16
    CHECK(epsilon_lower_bound({100, 5, 5}, 0, 0.05) > 0);   // 1/32
    CHECK(epsilon_lower_bound({1000, 100, 100}, 0.1, 0.05) == 0);
}

TEST_CASE("the bound is on the side that is rejected, and tight") {
    for (const std::int64_t correct : {60, 75, 99, 100}) {
        const one_run_audit seen{200, 100, correct};
        const double bound = epsilon_lower_bound(seen, 1e-5, 0.05);
        CHECK(one_run_p_value(seen, bound, 1e-5) < 0.05);
        CHECK(one_run_p_value(seen, bound + 1e-8, 1e-5) >= 0.05);
    }
}

TEST_CASE("the bound rises with what is right, and falls with the canaries, δ and confidence") {
    double last = 0;
    for (std::int64_t correct = 65; correct <= 100; ++correct) {
        const double bound = epsilon_lower_bound({500, 100, correct}, 1e-5, 0.05);
        CHECK(bound > last);
        last = bound;
    }
    const auto bound = [](std::int64_t canaries, double delta, double beta) {
        return epsilon_lower_bound({canaries, 100, 90}, delta, beta);
    };
    CHECK(bound(500, 1e-5, 0.05) > bound(5000, 1e-5, 0.05));
    CHECK(bound(500, 0, 0.05) > bound(500, 1e-5, 0.05));
    CHECK(bound(500, 1e-5, 0.05) > bound(500, 1e-4, 0.05));
    CHECK(bound(500, 1e-5, 0.05) > bound(500, 1e-5, 0.01));
}

TEST_CASE("audits of a mechanism with a known ε exceed it as rarely as promised") {
    // Randomised response at ε₀: every canary's coin is reported rightly with q = e^ε₀/(1 + e^ε₀), and a quarter of the
    // canaries guessed each way. 20 of 400 bounds may exceed ε₀; 38 or more would have a probability below 2e-4.
    constexpr double epsilon = 1.5, beta = 0.05;
    const double q = 1 / (1 + std::exp(-epsilon));
    draws random(7);
    int exceeded = 0, exceeded_at_half = 0, exceeded_by_estimate = 0, useful = 0;
    for (int audit = 0; audit < 400; ++audit) {
        std::vector<double> scores;
        std::vector<bool> included;
        for (int canary = 0; canary < 400; ++canary) {
            included.push_back(random.coin(0.5));
            const bool reported = random.coin(q) == included.back();
            scores.push_back(reported ? random.uniform() : -random.uniform());
        }
        const auto seen = guess_by_score(scores, included, 200);
        const double bound = epsilon_lower_bound(seen, 1e-9, beta);
        exceeded += bound > epsilon;
        useful += bound > epsilon / 2;
        // Two wrong bounds, to show that this test tells: without confidence, and the plain estimate of ε.
        exceeded_at_half += epsilon_lower_bound(seen, 1e-9, 0.499) > epsilon;
        exceeded_by_estimate += static_cast<double>(seen.correct) > q * 200;
    }
    CHECK(exceeded < 38);
    CHECK(exceeded > 4);  // nor is it so low as to be useless
    CHECK(useful > 390);
    CHECK(exceeded_at_half > 100);
    CHECK(exceeded_by_estimate > 100);
}

TEST_CASE("audits of Gaussian noise exceed its μ as rarely as promised, and come nearer to it than one ε does") {
    // Each score is the coin plus noise of deviation 1/μ. 20 of 400 bounds may exceed μ; see above.
    constexpr double mu = 1, beta = 0.05, delta = 1e-5;
    const double epsilon = 4.3770;  // of μ = 1 at δ
    draws random(11);
    int exceeded = 0;
    double sum = 0, sum_of_epsilon = 0;
    for (int audit = 0; audit < 400; ++audit) {
        std::vector<double> scores;
        std::vector<bool> included;
        for (int canary = 0; canary < 1000; ++canary) {
            included.push_back(random.coin(0.5));
            scores.push_back((included.back() ? 1 : 0) + random.normal() / mu);
        }
        const auto seen = guess_by_score(scores, included, 200);
        const double bound = mu_lower_bound(seen, beta);
        sum += bound / 400;
        sum_of_epsilon += epsilon_lower_bound(seen, delta, beta) / 400;
        exceeded += bound > mu;
    }
    CHECK(exceeded < 38);
    CHECK(sum / mu > 1.3 * sum_of_epsilon / epsilon);
}

TEST_CASE("guesses take the extremes, equal scores in the order of canaries") {
    const std::vector<double> scores = {5, 1, 4, 2, 3, 0};
    const std::vector<bool> included = {true, true, true, false, false, false};
    const auto count = [&](std::int64_t guesses) { return guess_by_score(scores, included, guesses).correct; };
    CHECK(count(0) == 0);
    CHECK(count(2) == 2);  // 5 in, 0 out
    CHECK(count(4) == 3);  // 4 in, but 1 is not out
    CHECK(count(6) == 4);
    CHECK(guess_by_score(scores, included, 4).canaries == 6);
    CHECK(guess_by_score(scores, included, 4).guesses == 4);
    CHECK(guess_by_score({1, 1, 1, 1}, {false, true, false, true}, 2).correct == 2);
    CHECK(guess_by_score({1, 1, 1, 1}, {true, false, true, false}, 2).correct == 0);
}

TEST_CASE("audits that cannot be are refused") {
    const auto has = [](const std::string& line, const char* part) { return line.find(part) != std::string::npos; };
    for (const one_run_audit& wrong :
         {one_run_audit{0, 0, 0}, one_run_audit{10, 11, 5}, one_run_audit{10, 5, 6}, one_run_audit{10, 5, -1}}) {
        CHECK(has(refusal([&] { one_run_p_value(wrong, 1, 0); }), "is no audit"));
        CHECK(has(refusal([&] { epsilon_lower_bound(wrong, 0, 0.05); }), "is no audit"));
        CHECK(has(refusal([&] { mu_lower_bound(wrong, 0.05); }), "is no audit"));
    }
    const one_run_audit seen{10, 10, 9};
    for (const double wrong : {-1.0, double{INFINITY}, double{NAN}})
        CHECK(has(refusal([&] { one_run_p_value(seen, wrong, 0); }), "epsilon is"));
    for (const double wrong : {-1e-9, 1.0, double{NAN}})
        CHECK(has(refusal([&] { epsilon_lower_bound(seen, wrong, 0.05); }), "delta is"));
    for (const double wrong : {0.0, 0.5, double{NAN}}) {
        CHECK(has(refusal([&] { epsilon_lower_bound(seen, 0, wrong); }), "beta is"));
        CHECK(has(refusal([&] { mu_lower_bound(seen, wrong); }), "beta is"));
    }
    CHECK(has(refusal([] { guess_by_score({1, 2}, {true}, 2); }), "2 scores for 1 canaries"));
    for (const std::int64_t wrong : {1, 4, -2})
        CHECK(has(refusal([&] { guess_by_score({1, 2}, {true, false}, wrong); }), "not an even number"));
    CHECK(has(refusal([] { guess_by_score({1, NAN}, {true, false}, 2); }), "canary score 1 is nan"));
}
