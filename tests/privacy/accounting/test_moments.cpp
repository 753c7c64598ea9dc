// The moments of the privacy loss and the Gaussian formulas against closed forms.
#include <cmath>
#include <random>
#include <vector>

#include "privacy/accounting/accountant.hpp"
#include "privacy/accounting/gdp.hpp"
#include "privacy/accounting/rdp.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

namespace {

/// Mironov, Talwar, Zhang 2019, equation 7: Σ_k C(α,k)(1−q)^{α−k} q^k e^{k(k−1)/2z²}, α an integer.
double integer_order(int alpha, double z, double q) {
    std::vector<double> terms;
    double largest = -INFINITY;
    for (int k = 0; k <= alpha; ++k) {
        const double binomial = std::lgamma(alpha + 1.0) - std::lgamma(k + 1.0) - std::lgamma(alpha - k + 1.0);
        terms.push_back(binomial + (alpha - k) * std::log1p(-q) + k * std::log(q) + k * (k - 1) / (2 * z * z));
        largest = std::max(largest, terms.back());
    }
    double sum = 0;
    for (const double t : terms) sum += std::exp(t - largest);
    return (largest + std::log(sum)) / (alpha - 1);
}

/// Divergence of order 2 without cancellation: log(1 + q²(e^{1/z²} − 1)).
double second_order(double z, double q) {
    return std::log1p(q * q * std::expm1(1 / (z * z)));
}

}  // namespace

TEST_CASE("integer Rényi orders are the binomial sum") {
    for (const double z : {0.3, 0.5, 0.8, 1.5, 4.0}) {
        for (const double q : {1e-4, 3e-3, 0.05, 0.5, 0.999}) {
            for (const int alpha : {2, 3, 7, 20, 64}) {
                const double exact = integer_order(alpha, z, q);
                if (exact < 1e-6) continue;  // the sum has lost its digits
                CAPTURE(z, q, alpha);
                CHECK(subsampled_gaussian_rdp(alpha, z, q) == Approx(exact).epsilon(1e-6));
            }
        }
    }
}

TEST_CASE("the second order stays precise where the moment is next to 1") {
    for (const double z : {0.3, 1.0, 10.0, 100.0}) {
        for (const double q : {1e-6, 1e-4, 1e-2}) {
            CAPTURE(z, q);
            const double exact = second_order(z, q), found = subsampled_gaussian_rdp(2, z, q);
            CHECK(found == Approx(exact).epsilon(1e-6));
            CHECK(found >= exact * (1 - 1e-9));
        }
    }
}

TEST_CASE("fractional orders continue the integer ones: convex moments, monotone divergence") {
    for (const double z : {0.35, 0.9, 5.0}) {
        for (const double q : {2e-4, 0.02, 0.6}) {
            double last_slope = -INFINITY, last_rdp = 0;
            for (double alpha = 1.05; alpha < 30; alpha += 0.15) {
                const double rdp = subsampled_gaussian_rdp(alpha, z, q);
                const double here = (alpha - 1) * rdp,
                             next = (alpha - 0.85) * subsampled_gaussian_rdp(alpha + 0.15, z, q);
                CAPTURE(z, q, alpha);
                CHECK(rdp >= last_rdp * (1 - 1e-6));
                CHECK(next - here >= last_slope - 1e-6 * std::abs(last_slope));
                last_slope = next - here;
                last_rdp = rdp;
            }
        }
    }
    CHECK(subsampled_gaussian_rdp(2.7, 0.8, 1) == Approx(2.7 / (2 * 0.64)));
    CHECK(subsampled_gaussian_rdp(2.7, 0.8, 0) == 0);
}

TEST_CASE("both directions by plain summation over outcomes") {
    for (const double z : {0.6, 2.0}) {
        for (const double q : {0.01, 0.4}) {
            for (const double lambda : {0.01, 1.3, 9.0}) {
                double remove = 0, add = 0;
                for (double x = -60; x < 60; x += 1e-3) {
                    const double base = std::exp(-x * x / (2 * z * z)) / (z * std::sqrt(2 * M_PI)) * 1e-3;
                    const double ratio = 1 - q + q * std::exp((2 * x - 1) / (2 * z * z));
                    if (base == 0) continue;
                    remove += base * std::pow(ratio, 1 + lambda);
                    add += base * std::pow(ratio, -lambda);
                }
                CAPTURE(z, q, lambda);
                CHECK(log_moment(direction::remove, lambda, z, q) == Approx(std::log(remove)).epsilon(1e-5));
                CHECK(log_moment(direction::add, lambda, z, q) == Approx(std::log(add)).epsilon(1e-5));
            }
        }
    }
}

TEST_CASE("the conversion's supremum") {
    for (const double lambda : {0.02, 0.7, 5.0, 300.0}) {
        double supremum = -INFINITY;
        for (double t = 1e-6; t < 50; t *= 1.001)
            supremum = std::max(supremum, -lambda * t + std::log(-std::expm1(-t)));
        CAPTURE(lambda);
        CHECK(log_conversion(lambda) == Approx(supremum).epsilon(1e-4));
    }
}

TEST_CASE("the Gaussian curve: definition, inverse, far tails") {
    const auto cdf = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
    for (const double mu : {0.05, 0.5, 2.0, 6.0}) {
        for (const double epsilon : {0.0, 0.1, 1.0, 4.0}) {
            const double plain = cdf(mu / 2 - epsilon / mu) - std::exp(epsilon) * cdf(-mu / 2 - epsilon / mu);
            CAPTURE(mu, epsilon);
            CHECK(gaussian_delta(mu, epsilon) == Approx(plain).epsilon(1e-9).margin(1e-16));
            const double delta = gaussian_delta(mu, epsilon);
            if (delta > 1e-300 && delta < 1)
                CHECK(gaussian_epsilon(mu, delta) == Approx(epsilon).epsilon(1e-9).margin(1e-9));
        }
    }
    CHECK(gaussian_epsilon(1, 1e-5) == Approx(4.3772).epsilon(1e-4));  // Balle and Wang 2018: σ = 1, Δ = 1
    CHECK(gaussian_epsilon(0, 1e-5) == 0);
    CHECK(std::isinf(gaussian_epsilon(INFINITY, 1e-5)));
    CHECK(gaussian_epsilon(1e4, 1e-10) == Approx(5e7 + 1e4 * 6.3613).epsilon(1e-6));
    CHECK(gaussian_delta(1, 30) > 0);
    CHECK(gaussian_delta(1, 30) < 1e-190);
}

TEST_CASE("the two readings of the published formula") {
    const std::vector<phase> phases{{0.9, 0.01, 100}, {0.6, 0.01, 300}};
    CHECK(published_epsilon(published_formula::central_limit, phases, 1e-5) ==
          make_accountant("gdp_clt")->epsilon(phases, 1e-5));
    CHECK(published_epsilon(published_formula::printed, phases, 1e-5) ==
          gaussian_epsilon(0.01 * 20 * std::expm1(1 / 0.6), 1e-5));
    CHECK(published_epsilon(published_formula::printed, {}, 1e-5) == 0);
}
