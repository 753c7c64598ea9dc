#include "privacy/mechanism/release_trace.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <memory>

#include "base/error.hpp"
#include "privacy/methods/geometries.hpp"
#include "tests/catch.hpp"
#include "tests/support/charges.hpp"

using namespace rldp::privacy;

namespace {

constexpr std::int64_t few_coordinates = 6000;

step_order plain_order(std::uint64_t seq, double z) {
    step_order out{rldp::testing::charged_at(seq, z), {}};
    out.terms.radii = {0.01 * static_cast<double>(seq), 2};
    return out;
}

/// Standard deviations between the mean square of standard normals and 1.
double surprise(const at::Tensor& values) {
    const auto n = static_cast<double>(values.numel());
    return std::abs(values.square().mean().item<double>() - 1) / std::sqrt(2 / n);
}

}  // namespace

TEST_CASE("under noise alone the trace of T steps has variance T everywhere, whatever radii and multipliers") {
    const sanitizer_config how{make_segments({2000, 4000}), rldp::allocation::min_variance};
    sanitizer by(how, run_key::insecure_from_seed(3));
    release_trace trace(how);
    constexpr int steps = 5;
    for (int t = 1; t <= steps; ++t) {
        const auto now = plain_order(static_cast<std::uint64_t>(t), 0.5 * t);
        by.begin(now);
        trace.add(now.terms, by.finish());
    }
    const auto unit = trace.sum() / std::sqrt(static_cast<double>(steps));
    CHECK(surprise(unit.slice(0, 0, 2000)) < 5);
    CHECK(surprise(unit.slice(0, 2000)) < 5);
    CHECK(surprise(trace.sum()) > 5);
}

TEST_CASE("in a geometry every coordinate is measured by its own noise") {
    const sanitizer_config how{make_segments({few_coordinates})};
    auto now = plain_order(1, 0.7);
    now.terms.radii = {1};
    const auto widths = at::logspace(-3, 2, few_coordinates, 10, at::kDouble);
    now.terms.shape = std::make_shared<diagonal_geometry>(at::zeros({few_coordinates}, at::kDouble), widths);
    sanitizer by(how, run_key::insecure_from_seed(4));
    release_trace trace(how);
    by.begin(now);
    trace.add(now.terms, by.finish());
    CHECK(surprise(trace.sum()) < 5);
    CHECK(surprise(trace.sum().slice(0, 0, 1000)) < 5);
}

TEST_CASE("what a unit adds to the trace is its clipped gradient over the noise's deviation") {
    const sanitizer_config how{make_segments({2, 2})};
    const auto now = plain_order(10, 3);
    release_trace trace(how);
    release value{now.charged, at::tensor({0.1F, 0.F, 2.F, 0.F}), {}, {}};
    trace.add(now.terms, value);
    // Equal shares of two groups: s_i = z·√2·C_i.
    const double each = 1 / (3 * std::sqrt(2.0));
    CHECK(at::allclose(trace.sum(), at::tensor({each, 0., each, 0.}, at::kDouble), 1e-6));
}

TEST_CASE("a trace is brought back whole, and what does not fit is refused") {
    const sanitizer_config how{make_segments({2, 2})};
    release_trace trace(how);
    trace.add(plain_order(10, 3).terms, {rldp::testing::charged_at(10, 3), at::tensor({0.1F, 0.F, 2.F, 0.F}), {}, {}});
    release_trace other(how);
    other.restore(trace.sum());
    CHECK(at::equal(other.sum(), trace.sum()));
    CHECK_THROWS_AS(other.restore(at::zeros({3}, at::kDouble)), rldp::error);
    CHECK_THROWS_AS(other.restore(at::Tensor()), rldp::error);
    CHECK_THROWS_AS(other.add(plain_order(11, 3).terms, {rldp::testing::charged_at(11, 3), at::zeros({3}), {}, {}}),
                    rldp::error);
}
