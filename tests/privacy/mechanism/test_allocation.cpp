#include <cmath>
#include <limits>
#include <random>

#include "privacy/mechanism/sanitizer.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;

namespace {

constexpr rldp::allocation all[] = {rldp::allocation::shares, rldp::allocation::proportional, rldp::allocation::uniform,
                                    rldp::allocation::min_variance};

struct random_case {
    double z;
    std::vector<double> radii, shares;
    std::vector<std::int64_t> sizes;
};

random_case draw(std::mt19937_64& random) {
    std::uniform_real_distribution<double> log_radius(-7, 0), log_size(0, 14), log_z(-1, 3), share(0.01, 1);
    random_case out{std::exp(log_z(random)), {}, {}, {}};
    const auto groups = 1 + random() % 60;
    double sum = 0;
    for (std::size_t i = 0; i < groups; ++i) {
        out.radii.push_back(std::exp(log_radius(random)));
        out.sizes.push_back(1 + static_cast<std::int64_t>(std::exp(log_size(random))));
        out.shares.push_back(share(random));
        sum += out.shares.back();
    }
    for (double& s : out.shares) s /= sum;
    return out;
}

double total_variance(const std::vector<std::int64_t>& sizes, const std::vector<double>& s) {
    double out = 0;
    for (std::size_t i = 0; i < s.size(); ++i) out += static_cast<double>(sizes[i]) * s[i] * s[i];
    return out;
}

}  // namespace

TEST_CASE("every allocation has exactly the multiplier that is accounted") {
    std::mt19937_64 random(1);
    double worst = 0;
    for (int round = 0; round < 2000; ++round) {
        const auto c = draw(random);
        for (auto how : all) {
            const auto s = noise_standard_deviations(how, c.z, c.radii, c.sizes, c.shares);
            worst = std::max(worst, std::abs(effective_multiplier(c.radii, s) / c.z - 1));
        }
    }
    CHECK(worst < 1e-12);
}

TEST_CASE("min_variance is beaten by no other allocation of the same multiplier") {
    std::mt19937_64 random(2);
    std::normal_distribution<double> normal;
    for (int round = 0; round < 300; ++round) {
        const auto c = draw(random);
        const auto best = noise_standard_deviations(rldp::allocation::min_variance, c.z, c.radii, c.sizes, {});
        const double least = total_variance(c.sizes, best) * (1 - 1e-12);
        for (auto how : all) {
            CHECK(total_variance(c.sizes, noise_standard_deviations(how, c.z, c.radii, c.sizes, c.shares)) >= least);
        }
        for (double size : {0.01, 0.3, 2.0}) {
            auto other = best;
            for (double& s : other) s *= std::exp(size * normal(random));
            const double scale = c.z / effective_multiplier(c.radii, other);
            for (double& s : other) s *= scale;
            CHECK(total_variance(c.sizes, other) >= least);
        }
    }
}

TEST_CASE("allocations of two groups, worked out by hand") {
    const std::vector<double> radii = {0.3, 0.4};
    const std::vector<std::int64_t> sizes = {4, 9};
    const auto s = [&](rldp::allocation how, const std::vector<double>& shares = {}) {
        return noise_standard_deviations(how, 2, radii, sizes, shares);
    };
    CHECK(s(rldp::allocation::uniform)[1] == Approx(1.0));
    CHECK(s(rldp::allocation::proportional)[0] == Approx(0.6 * std::sqrt(2.0)));
    CHECK(s(rldp::allocation::shares, {0.36, 0.64})[0] == Approx(1.0));
    CHECK(s(rldp::allocation::shares)[1] == Approx(0.8 * std::sqrt(2.0)));
    // s² = 4·(0.3·2 + 0.4·3)·C/√d
    CHECK(s(rldp::allocation::min_variance)[0] == Approx(std::sqrt(7.2 * 0.15)));
    CHECK(s(rldp::allocation::min_variance)[1] == Approx(std::sqrt(7.2 * 0.4 / 3)));
    CHECK(effective_multiplier({1, 1, 1, 1}, {2, 2, 2, 2}) == Approx(1.0));  // σ·C_i charged as σ has σ/√n
}

TEST_CASE("gradient and statistics together have the joint multiplier") {
    for (double z : {0.3, 1.0, 100.0}) {
        for (double share : {0.0, 0.02, 0.5, 0.99}) {
            const double z_phi = measurement_multiplier(z, share), z_g = gradient_multiplier(z, z_phi);
            const double g = 1 / (z_g * z_g), phi = 1 / (z_phi * z_phi);
            CHECK(g + phi == Approx(1 / (z * z)).epsilon(1e-13));
            CHECK(phi * z * z == Approx(share).margin(1e-15));
        }
    }
}

TEST_CASE("numbers that make no noise are refused") {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    for (double bad : {0.0, -1.0, inf, nan}) {
        CHECK_THROWS_AS(measurement_multiplier(bad, 0.1), rldp::error);
        CHECK_THROWS_AS(gradient_multiplier(bad, 2), rldp::error);
        CHECK_THROWS_AS(effective_multiplier({1, bad}, {1, 1}), rldp::error);
        CHECK_THROWS_AS(effective_multiplier({1, 1}, {1, bad}), rldp::error);
        CHECK_THROWS_AS(noise_standard_deviations(rldp::allocation::shares, 1, {1, 1}, {1, 1}, {0.5, bad}),
                        rldp::error);
        for (auto how : all) {
            CHECK_THROWS_AS(noise_standard_deviations(how, bad, {1}, {1}, {}), rldp::error);
            CHECK_THROWS_AS(noise_standard_deviations(how, 1, {1, bad}, {1, 1}, {}), rldp::error);
        }
    }
    for (double share : {-0.1, 1.0, nan}) CHECK_THROWS_AS(measurement_multiplier(1, share), rldp::error);
    for (double left : {1.0, 0.5, 0.0, -2.0, nan}) CHECK_THROWS_AS(gradient_multiplier(1, left), rldp::error);
    for (auto how : all) {
        CHECK_THROWS_AS(noise_standard_deviations(how, 1, {}, {}, {}), rldp::error);
        CHECK_THROWS_AS(noise_standard_deviations(how, 1, {1, 1}, {1}, {}), rldp::error);
        CHECK_THROWS_AS(noise_standard_deviations(how, 1, {1}, {0}, {}), rldp::error);
        CHECK_THROWS_AS(noise_standard_deviations(how, 1e300, {1e300, 1e300}, {1, 1}, {}), rldp::error);
    }
    CHECK_THROWS_AS(noise_standard_deviations(rldp::allocation::shares, 1, {1, 1}, {1, 1}, {0.5, 0.6}), rldp::error);
}
