#include "eval/audit/statistics/secrets.hpp"

#include <cmath>
#include <numbers>

#include "tests/support/refusal.hpp"
#include "tests/support/simulated.hpp"

#include "tests/catch.hpp"

using namespace rldp::eval;

namespace {

bool has(const std::string& line, const char* part) {
    return line.find(part) != std::string::npos;
}

/// 40 + 2u + 0.15u² at 200 logistic quantiles u: skewed to the right by 1.07, and in any order.
std::vector<double> skewed_references() {
    std::vector<double> out;
    for (int k = 0; k < 200; ++k) {
        const double t = (k * 77 % 200 + 0.5) / 200, u = std::log(t / (1 - t));
        out.push_back(40 + 2 * u + 0.15 * u * u);
    }
    return out;
}

}  // namespace

TEST_CASE("exposure by rank") {
    CHECK(rank_exposure(1, {2, 3, 4, 5, 6, 7, 8}) == 3);
    CHECK(rank_exposure(2.5, {2, 3, 4, 5, 6, 7, 8}) == 2);
    CHECK(rank_exposure(9, {2, 3, 4, 5, 6, 7, 8}) == 0);
    CHECK(rank_exposure(2, {2, 3, 4, 5, 6, 7, 8}) == 2);  // the tie is ahead
    CHECK(rank_exposure(5, {5, 5, 5}) == 0);
    CHECK(rank_exposure(3, {1, 1, 9, 9, 9}) == Approx(1));
    CHECK(has(refusal([] { rank_exposure(NAN, {1}); }), "secret 0 is nan"));
    CHECK(has(refusal([] { rank_exposure(1, {1, INFINITY}); }), "reference 1 is inf"));
}

TEST_CASE("the far tail of a skew-normal keeps its relative precision") {
    // log F by integration of the density with 40 digits (mpmath).
    const struct {
        double shape, z, log_f;
    } known[] = {{0, -3.2, -7.282975502903631}, {0, -30, -454.3212439563432},  {3, -1.5, -16.72765567516846},
                 {3, -12, -729.5178956329928},  {-2, -20, -203.2240081905373}, {50, -4, -20023.65386251785},
                 {3, -0.5, -5.056241751246364}, {3, 0.4, -1.128048791697073},  {-2, 1, -0.001720358914445282}};
    for (const auto& one : known) {
        CAPTURE(one.shape, one.z);
        CHECK(log_cdf({0, 1, one.shape}, one.z) == Approx(one.log_f).epsilon(1e-10));
        CHECK(log_cdf({5, 2, one.shape}, 5 + 2 * one.z) == Approx(one.log_f).epsilon(1e-10));
        CHECK(extrapolated_exposure(5 + 2 * one.z, {5, 2, one.shape}) ==
              Approx(-one.log_f / std::numbers::ln2).epsilon(1e-10));
    }
}

TEST_CASE("exposure falls with log-perplexity without a jump, from finite bits to none") {
    for (const double shape : {-5.0, 0.0, 0.7, 20.0}) {
        double last = extrapolated_exposure(-60, {0, 1, shape});
        CHECK(std::isfinite(last));
        for (double s = -59.99; s < 10; s += 0.01) {
            const double bits = extrapolated_exposure(s, {0, 1, shape});
            CHECK(bits <= last + 1e-12);
            // −log Φ(z) has a slope of at most |z| + 1, and Φ(αz) in the density adds α times that of αz.
            CHECK(last - bits < 0.01 * (1 + shape * shape) * (std::abs(s) + 3) / std::numbers::ln2);
            last = bits;
        }
        CHECK(last == 0);
        CHECK_FALSE(std::signbit(last));
    }
    CHECK(has(refusal([] { extrapolated_exposure(INFINITY, {0, 1, 0}); }), "secret 0 is inf"));
}

TEST_CASE("the fit has the greatest likelihood") {
    // The root of the likelihood's gradient, and what follows from it, with 25 digits (mpmath).
    const auto fit = fit_skew_normal(skewed_references());
    CHECK(fit.law.location() == Approx(36.250361176524).epsilon(1e-6));
    CHECK(fit.law.scale() == Approx(5.6161087878795).epsilon(1e-6));
    CHECK(fit.law.shape() == Approx(3.2712212056872).epsilon(1e-5));
    CHECK(fit.distance == Approx(0.0280769582962).epsilon(1e-5));
    CHECK(fit.p_value == Approx(0.997477057719).epsilon(1e-5));
    CHECK(extrapolated_exposure(20, fit.law) == Approx(80.686793195653).epsilon(1e-5));
    CHECK(extrapolated_exposure(10, fit.law) == Approx(195.77732681517).epsilon(1e-5));
    CHECK(extrapolated_exposure(-20, fit.law) == Approx(860.28826424559).epsilon(1e-5));
}

TEST_CASE("the fit moves, stretches and mirrors with the references") {
    const auto fit = fit_skew_normal(skewed_references());
    auto mirrored = skewed_references();
    for (auto& value : mirrored) value = 7 - 100 * value;
    const auto other = fit_skew_normal(mirrored);
    CHECK(other.law.location() == Approx(7 - 100 * fit.law.location()).epsilon(1e-5));
    CHECK(other.law.scale() == Approx(100 * fit.law.scale()).epsilon(1e-5));
    CHECK(other.law.shape() == Approx(-fit.law.shape()).epsilon(1e-5));
    CHECK(other.distance == Approx(fit.distance).epsilon(1e-4));
}

TEST_CASE("the fit finds the law that references were drawn from, and tells another kind of law") {
    draws random(3);
    std::vector<double> drawn, two_heaps;
    for (int i = 0; i < 20000; ++i) {
        const double delta = 4 / std::sqrt(17.0), common = std::abs(random.normal());  // shape 4 (Azzalini 1985)
        drawn.push_back(30 + 2 * (delta * common + std::sqrt(1 - delta * delta) * random.normal()));
        if (i < 400) two_heaps.push_back(random.normal() + (i % 2 == 0 ? 10 : 0));
    }
    const auto fit = fit_skew_normal(drawn);
    CHECK(fit.law.location() == Approx(30).margin(0.1));
    CHECK(fit.law.scale() == Approx(2).margin(0.1));
    CHECK(fit.law.shape() == Approx(4).margin(0.5));
    CHECK(fit.p_value > 0.1);
    CHECK(fit_skew_normal(two_heaps).p_value < 1e-6);
}

TEST_CASE("references without skew, and with more than fits, have a law all the same") {
    std::vector<double> even, steep;
    for (int k = 0; k < 50; ++k) {
        even.push_back(k);
        steep.push_back(-std::log1p(-(k + 0.5) / 50));  // exponential quantiles
    }
    const auto flat = fit_skew_normal(even).law;
    CHECK(flat.location() +
              flat.scale() * flat.shape() / std::hypot(1, flat.shape()) * std::sqrt(2 / std::numbers::pi) ==
          Approx(24.5).margin(1));
    CHECK(std::abs(flat.shape()) < 2);
    CHECK(fit_skew_normal(steep).law.shape() > 20);
    CHECK(std::isfinite(extrapolated_exposure(-1, fit_skew_normal(steep).law)));
}

TEST_CASE("references that no law can be fitted to are refused") {
    CHECK(has(refusal([] { fit_skew_normal(std::vector<double>(19, 1)); }), "19 references are too few"));
    CHECK(has(refusal([] { fit_skew_normal(std::vector<double>(20, 1.5)); }), "all references are 1.5"));
    CHECK(has(refusal([] { fit_skew_normal({1, NAN}); }), "reference 1 is nan"));
}
