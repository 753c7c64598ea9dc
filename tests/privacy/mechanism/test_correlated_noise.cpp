// Noise in bands, from outside: what releases of nobody hold.
#include "privacy/mechanism/correlated_noise.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "privacy/mechanism/sanitizer.hpp"
#include "privacy/mechanism/statistics.hpp"
#include "tests/catch.hpp"
#include "tests/support/charges.hpp"
#include "tests/support/goodness.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/threads.hpp"

using namespace rldp::privacy;

namespace {

const std::vector<std::int64_t> two_groups = {6000, 4000};

sanitizer make_banded(std::int64_t bands, std::int64_t steps = 100,
                      const std::vector<std::int64_t>& sizes_of = two_groups) {
    return sanitizer({.segments = make_segments(sizes_of), .bands = make_bands(bands, steps)},
                     run_key::insecure_from_seed(21));
}

/// The release of a step in which nobody is drawn, float64 [D].
at::Tensor release_of_nobody(sanitizer& by, std::uint64_t seq, std::vector<double> radii = {1, 0.25}) {
    step_order how{rldp::testing::charged_at(seq, 0.8), {}};
    how.terms.radii = std::move(radii);
    by.begin(how);
    return by.finish().gradient.to(at::kDouble);
}

std::vector<double> numbers_of(const at::Tensor& flat) {
    const auto whole = flat.contiguous();
    return {whole.data_ptr<double>(), whole.data_ptr<double>() + whole.numel()};
}

/// Σ_k c_k·x_{t−k} for the last of `scaled`: C applied to what C⁻¹ was.
at::Tensor whiten(const band_coefficients& bands, const std::vector<at::Tensor>& scaled) {
    auto out = at::zeros_like(scaled.back());
    for (std::size_t k = 0; k < bands.size() && k < scaled.size(); ++k) out += bands[k] * scaled[scaled.size() - 1 - k];
    return out;
}

/// The deviation of each group at multiplier 0.8 and equal shares.
double scale_of(double radius) {
    return 0.8 * std::sqrt(2.0) * radius;
}

}  // namespace

TEST_CASE("noise in bands has the covariance of C⁻¹ over steps, and none over coordinates") {
    const auto bands = GENERATE(std::int64_t{2}, std::int64_t{4});
    constexpr std::size_t steps = 9;
    const auto c = make_bands(bands, 100);
    auto by = make_banded(bands);
    std::vector<std::vector<double>> x;  // of the first group, in units of its scale
    for (std::uint64_t seq = 1; seq <= steps; ++seq)
        x.push_back(numbers_of(release_of_nobody(by, seq).narrow(0, 0, two_groups[0]) / scale_of(1)));
    std::vector<std::vector<double>> inverse(steps, std::vector<double>(steps, 0));
    for (std::size_t column = 0; column < steps; ++column)
        for (std::size_t row = column; row < steps; ++row) {
            double sum = row == column ? 1 : 0;
            for (std::size_t k = 1; k < c.size() && k <= row; ++k) sum -= c[k] * inverse[row - k][column];
            inverse[row][column] = sum / c[0];
        }
    const auto n = static_cast<double>(two_groups[0]);
    double furthest_from_independent = 0;
    for (std::size_t s = 0; s < steps; ++s) {
        for (std::size_t t = 0; t < steps; ++t) {
            double expected = 0, seen = 0, ss = 0, tt = 0;
            for (std::size_t j = 0; j < steps; ++j) {
                expected += inverse[s][j] * inverse[t][j];
                ss += inverse[s][j] * inverse[s][j];
                tt += inverse[t][j] * inverse[t][j];
            }
            for (std::size_t i = 0; i < x[s].size(); ++i) seen += x[s][i] * x[t][i];
            CAPTURE(bands, s, t, expected, seen / n);
            const double error = std::sqrt((ss * tt + expected * expected) / n);
            CHECK(std::abs(seen / n - expected) < 4.5 * error);
            furthest_from_independent =
                std::max(furthest_from_independent, std::abs(seen / n - (s == t ? 1.0 : 0.0)) / error);
        }
        const std::span half(x[s]);
        CHECK(std::abs(correlation_score(half.first(3000), half.last(3000))) < 4);
        CHECK(std::abs(correlation_score(half.first(5999), half.last(5999))) < 4);
        if (s > 0) CHECK(std::abs(correlation_score(half.first(5999), std::span(x[s - 1]).last(5999))) < 4);
    }
    CHECK(furthest_from_independent > 20);
}

TEST_CASE("each step's own scale is put on after noise is correlated, so that a radius may fall tenfold") {
    const auto c = make_bands(4, 100);
    auto by = make_banded(4);
    std::vector<at::Tensor> scaled, raw;
    for (std::uint64_t seq = 1; seq <= 30; ++seq) {
        const double radius = seq < 10 ? 1 : seq < 20 ? 0.1 : 0.5;
        raw.push_back(release_of_nobody(by, seq, {radius, 0.25 * radius}).narrow(0, 0, two_groups[0]));
        scaled.push_back(raw.back() / scale_of(radius));
        // In the scaled coordinates a unit's part has norm 1 at most, and what covers it is z itself, of variance 1.
        CHECK(fits(numbers_of(whiten(c, scaled)), 1));
        // C⁻¹(S·z) would be white in the releases' own coordinates: after the fall that is ten times what is there.
        if (seq >= 10 && seq < 13) CHECK_FALSE(fits(numbers_of(whiten(c, raw)), scale_of(radius)));
    }
}

TEST_CASE("noise in one band is today's, to the last bit") {
    auto one = make_banded(1);
    sanitizer plain({.segments = make_segments(two_groups)}, run_key::insecure_from_seed(21));
    auto several = make_banded(2);
    for (std::uint64_t seq = 1; seq <= 5; ++seq) {
        const auto expected = release_of_nobody(plain, seq);
        CHECK(at::equal(release_of_nobody(one, seq), expected));
        CHECK_FALSE(at::equal(release_of_nobody(several, seq), expected));
    }
}

TEST_CASE("a new block begins with each sanitizer, and where a step of the ledger was lost") {
    const auto c = make_bands(3, 100);
    const auto z = [&](std::uint64_t seq) {
        auto plain = make_banded(1);
        return release_of_nobody(plain, seq);
    };
    const auto is_first_of_block = [&](const at::Tensor& released, std::uint64_t seq) {
        return at::allclose(released, z(seq) / c[0], 1e-5, 1e-5);
    };
    auto by = make_banded(3);
    CHECK(is_first_of_block(release_of_nobody(by, 4), 4));
    CHECK_FALSE(is_first_of_block(release_of_nobody(by, 5), 5));
    CHECK(is_first_of_block(release_of_nobody(by, 7), 7));
    auto restarted = make_banded(3);
    CHECK(is_first_of_block(release_of_nobody(restarted, 8), 8));
    // A step whose noise was not drawn to the end.
    correlated_noise noise({0.8, 0.6}, 4);
    std::vector<double> whole{1, 1, 1, 1};
    noise.begin(1);
    noise.correlate(0, whole);
    CHECK(whole[3] == Approx(1.25));
    noise.begin(2);
    noise.correlate(0, std::span(whole).first(2));
    CHECK(whole[0] == Approx((1.25 - 0.6 * 1.25) / 0.8));
    noise.begin(3);
    whole = {1, 1, 1, 1};
    noise.correlate(0, whole);
    CHECK(whole[0] == Approx(1.25));
    CHECK_THROWS(noise.correlate(1, whole));
    CHECK_THROWS(correlated_noise({0.9, 0.6}, 4));  // a column longer than 1
}

TEST_CASE("noise in bands is the same bits on any number of threads, early or at the end") {
    // More coordinates than are drawn early: the second segment's are the same as in a small sanitizer's second
    // segment.
    const auto released = [&](const std::vector<std::int64_t>& sizes_of, int threads) {
        const rldp::testing::on_threads so_many(threads);
        auto by = make_banded(2, 100, sizes_of);
        at::Tensor out;
        for (std::uint64_t seq = 1; seq <= 2; ++seq) out = release_of_nobody(by, seq);
        return out.narrow(0, sizes_of[0], sizes_of[1]).clone();
    };
    const auto early = released({100, 100003}, 1);
    CHECK(at::equal(released({100, 100003}, 3), early));
    CHECK(at::equal(released({1 << 24, 100003}, 2), early));
}

TEST_CASE("what is measured keeps independent noise beside bands") {
    statistics_frame frame_of_two;
    frame_of_two.trackers.assign(2, {0.5, 1, 2});
    const auto measured = [&](std::int64_t bands) {
        auto by = make_banded(bands);
        std::vector<double> out;
        for (std::uint64_t seq = 1; seq <= 3; ++seq) {
            step_order how{rldp::testing::charged_at(seq, 0.8), {}};
            how.terms.radii = {1, 0.25};
            how.terms.measured = measure_statistics(frame_of_two);
            how.terms.measurement_multiplier = measurement_multiplier(0.8, 0.02);
            by.begin(how);
            const auto statistics = by.finish().statistics;
            out.insert(out.end(), statistics.begin(), statistics.end());
        }
        return out;
    };
    CHECK(measured(4) == measured(1));
}
