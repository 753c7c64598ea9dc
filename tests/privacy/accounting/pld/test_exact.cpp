// pld against exact hockey-stick divergences.
#include <algorithm>
#include <cmath>
#include <vector>

#include "privacy/accounting/gdp.hpp"
#include "privacy/accounting/pld/composition.hpp"
#include "privacy/accounting/pld/pld.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

namespace {

/// D(ε) of one step for any real ε, remove: P = (1−q)N0 + qN1 against N0.
double remove_step(double epsilon, double z, double q) {
    const double gamma = (std::expm1(epsilon) + q) / q;  // e^ε = 1 − q + q·γ
    if (gamma <= 0) return -std::expm1(epsilon);
    const auto upper = [](double x) { return std::erfc(x / std::sqrt(2.0)) / 2; };
    const double x = z * std::log(gamma) + 1 / (2 * z);
    return q * (upper(x - 1 / z) - gamma * upper(x));
}

/// δ of a step (z1, q1) followed by (z2, q2): E over the first outcome of the second's divergence at what is left.
double remove_two_steps(double epsilon, double z1, double q1, double z2, double q2) {
    double sum = 0;
    const double h = 1e-3;
    for (double y = -10; y < 10 + 1 / z1; y += h) {
        const double ratio = 1 - q1 + q1 * std::exp(y / z1 - 1 / (2 * z1 * z1));
        sum += h * std::exp(-y * y / 2) / std::sqrt(2 * M_PI) * ratio * remove_step(epsilon - std::log(ratio), z2, q2);
    }
    return sum;
}

double add_step(double epsilon, double z, double q) {
    double sum = 0;
    for (double y = -12; y < 12; y += 1e-4) {
        const double ratio = 1 - q + q * std::exp(y / z - 1 / (2 * z * z));
        sum += 1e-4 * std::exp(-y * y / 2) / std::sqrt(2 * M_PI) * std::max(0.0, 1 - std::exp(epsilon) * ratio);
    }
    return sum;
}

}  // namespace

TEST_CASE("q = 1 is the Gaussian mechanism, whatever the mix of multipliers") {
    const auto pld = make_accountant("pld");
    for (const double delta : {1e-10, 1e-5, 0.1}) {
        for (const auto& phases : std::vector<std::vector<phase>>{{{1, 1, 1}},
                                                                  {{2, 1, 10}},
                                                                  {{30, 1, 5000}},
                                                                  {{0.5, 1, 3}, {7, 1, 400}},
                                                                  {{100, 1, 1}},
                                                                  {{1, 1, 20000}}}) {
            double square = 0;
            for (const phase& r : phases)
                square += static_cast<double>(r.steps) / (r.noise_multiplier * r.noise_multiplier);
            const double exact = gaussian_epsilon(std::sqrt(square), delta), found = pld->epsilon(phases, delta);
            CAPTURE(delta, phases[0].noise_multiplier, exact);
            CHECK(found >= exact);
            CHECK(found <= exact * 1.0004 + 1e-6);
        }
    }
}

TEST_CASE("single steps and pairs of steps are exact to the mesh's accuracy, from above") {
    const auto pld = make_accountant("pld");
    for (const double z : {0.5, 1.0, 3.0}) {
        for (const double q : {1e-3, 0.05, 0.5}) {
            for (const double epsilon : {0.05, 0.7, 2.5}) {
                const phase one{z, q, 1};
                const double exact = std::max(remove_step(epsilon, z, q), add_step(epsilon, z, q));
                if (exact < 1e-12) continue;
                CAPTURE(z, q, epsilon, exact);
                const double found = pld->delta({&one, 1}, epsilon);
                CHECK(found >= exact * (1 - 1e-6));
                CHECK(found <= exact * 1.01);
                CHECK(pld->epsilon({&one, 1}, exact) == Approx(epsilon).epsilon(2e-3));
            }
        }
    }
    const std::vector<phase> two{{0.7, 0.05, 1}, {1.1, 0.2, 1}};
    for (const double epsilon : {0.1, 0.8, 2.0, 4.0}) {
        const double exact = remove_two_steps(epsilon, 0.7, 0.05, 1.1, 0.2), found = pld->delta(two, epsilon);
        CAPTURE(epsilon, exact);
        CHECK(found >= exact * (1 - 1e-6));
        CHECK(found <= exact * 1.005);
    }
}

TEST_CASE("a coarser mesh is a looser bound, a finer one a tighter") {
    const std::vector<phase> phases{{0.6, 1e-3, 3000}, {0.9, 1e-3, 1000}};
    const double fine = make_pld(2e-5)->epsilon(phases, 1e-5), usual = make_pld()->epsilon(phases, 1e-5),
                 coarse = make_pld(1e-2)->epsilon(phases, 1e-5);
    CHECK(fine <= usual);
    CHECK(usual <= coarse);
    CHECK(usual <= fine * 1.0003);
    CHECK(coarse <= fine * 1.02);
}

TEST_CASE("the privacy curve decreases and passes through the points that epsilon gives") {
    const std::vector<phase> phases{{0.8, 0.0035, 859}};
    const std::vector<double> at{0, 0.01, 0.1, 0.5, 1, 2, 4};
    const auto curve = pld_curve(phases, at);
    REQUIRE(curve.size() == at.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
        CHECK(curve[i].epsilon == at[i]);
        if (i > 0) CHECK(curve[i].delta < curve[i - 1].delta);
        CHECK(make_accountant("pld")->epsilon(phases, curve[i].delta) == Approx(at[i]).epsilon(3e-3).margin(1e-3));
    }
}

TEST_CASE("what meshes, tails and windows leave out is added, however crude they are") {
    const std::vector<phase> phases{{1.5, 1, 6}, {3, 1, 4}};
    const double mu = std::sqrt(6 / 2.25 + 4 / 9.0);
    const auto bound = [&](double accuracy, double tail, const target& at, double epsilon) {
        const double lambda = 3;
        const auto on = mesh::choose(direction::remove, sensitivity(lambda), phases, accuracy, tail);
        return composition(phases, on, lambda, at).delta(epsilon);
    };
    for (const double epsilon : {0.0, 0.5, 2.0, 5.0, 9.0}) {
        const double exact = gaussian_delta(mu, epsilon);
        const target fine{epsilon, exact};
        CAPTURE(epsilon, exact);
        CHECK(bound(1e-4, 1e-16, fine, epsilon) == Approx(exact).epsilon(2e-3));
        CHECK(bound(1, 1e-16, fine, epsilon) >= exact);
        for (const double tail : {1e-1, 1e-2, 1e-4}) CHECK(bound(1e-4, tail, fine, epsilon) >= exact);
        // A target of a thousand times δ and more makes the window so short that it loses more than δ.
        for (const double careless : {1e3, 1e6, 1e9})
            CHECK(bound(1e-4, 1e-16, {epsilon, careless * exact}, epsilon) >= exact);
    }
    const phase once{0.8, 1, 1};
    for (const double tail : {0.3, 0.1, 1e-3}) {
        const auto on = mesh::choose(direction::add, sensitivity(3), {&once, 1}, 1e-4, tail);
        for (const double epsilon : {0.5, 3.0, 6.0}) {
            const double exact = gaussian_delta(1 / 0.8, epsilon);
            CHECK(composition({&once, 1}, on, 3, {epsilon, exact}).delta(epsilon) >= exact);
        }
    }
}
