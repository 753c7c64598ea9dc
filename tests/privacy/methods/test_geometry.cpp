#include <ATen/ATen.h>

#include <cmath>

#include "base/error.hpp"
#include "privacy/mechanism/noise.hpp"
#include "privacy/methods/geometries.hpp"
#include "tests/catch.hpp"
#include "tests/privacy/methods/dense_covariance.hpp"

using namespace rldp::privacy;

namespace {

spiked_block block(std::int64_t size, std::int64_t rank, double tail, double spread) {
    return {orthonormal(size, rank), tail * (1 + at::rand({rank}, at::kDouble) * spread), tail};
}

std::vector<spiked_block> some_blocks() {
    at::manual_seed(3);
    return {block(5, 2, 0.3, 1e3), block(4, 3, 2e-3, 10), block(1, 0, 0.7, 0), block(6, 1, 5, 1e5)};
}

}  // namespace

TEST_CASE("a diagonal geometry measures and noises each coordinate in its own unit") {
    const auto scales = at::tensor({0.5, 4.0}, at::kDouble);
    const diagonal_geometry shape(at::zeros({2}, at::kDouble), scales);
    CHECK(shape.norms(at::tensor({1.5, 16.0, 0.0, 0.0}, at::kDouble).view({2, 2}))
              .equal(at::tensor({5.0, 0.0}, at::kDouble)));
    CHECK(shape.colour(at::tensor({2.0, -1.0}, at::kDouble)).equal(at::tensor({1.0, -4.0}, at::kDouble)));
    CHECK(shape.deviations().equal(scales));
    for (double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
        CHECK_THROWS_AS(diagonal_geometry(at::zeros({2}, at::kDouble), at::tensor({1.0, bad}, at::kDouble)),
                        rldp::error);
    CHECK_THROWS_AS(diagonal_geometry(at::full({2}, std::nan(""), at::kDouble), scales), rldp::error);
}

TEST_CASE("spiked norms and noise are those of GeoClip's dense M") {
    const auto blocks = some_blocks();
    const auto sigma = dense(blocks);
    const auto count = sigma.size(0);
    const spiked_geometry shape(at::zeros({count}, at::kDouble), blocks);
    // Theorem 2 of the paper, γ = 1, from the dense covariance.
    const auto [values, vectors] = at::linalg_eigh(sigma);
    const double s = values.sqrt().sum().item<double>();
    const auto m = at::diag(values.pow(-0.25)).matmul(vectors.t()) / std::sqrt(s);
    CHECK(shape.root_trace() == Approx(s).epsilon(1e-12));

    const auto c = at::randn({20, count}, at::kDouble);
    const auto expected = c.matmul(m.t()).norm(2, 1);
    CHECK(at::allclose(shape.norms(c), expected, 1e-12, 0));
    CHECK(shape.norms(c.narrow(0, 0, 0)).numel() == 0);

    std::vector<at::Tensor> columns;
    for (std::int64_t j = 0; j < count; ++j) columns.push_back(shape.colour(at::eye(count, at::kDouble)[j]));
    const auto colour = at::stack(columns, 1);
    const auto covariance = at::linalg_inv(m.t().matmul(m));
    CHECK(near(colour.matmul(colour.t()), covariance, 1e-12));
    const auto whitened = m.matmul(colour);
    CHECK(near(whitened.t().matmul(whitened), at::eye(count, at::kDouble), 1e-12));
    CHECK(at::allclose(shape.deviations(), covariance.diag().sqrt(), 1e-12, 0));

    // The constraint is met with equality, and the noise is the theorem's optimum (Σ√λ)².
    const auto metric = at::linalg_inv(colour.matmul(colour.t()));
    CHECK(compute_trace(metric.matmul(sigma)) == Approx(1).epsilon(1e-11));
    CHECK(shape.deviations().square().sum().item<double>() == Approx(s * s).epsilon(1e-12));
}

TEST_CASE("a block that is no spiked covariance is refused") {
    const auto build = [](const spiked_block& b) {
        spiked_geometry(at::zeros({b.directions.size(0)}, at::kDouble), {b});
    };
    at::manual_seed(4);
    const auto good = block(6, 2, 1, 3);
    build(good);
    CHECK_THROWS_AS(build({good.directions * 1.001, good.variances, 1}), rldp::error);
    CHECK_THROWS_AS(build({good.directions, good.variances, 100}), rldp::error);
    CHECK_THROWS_AS(build({good.directions, good.variances * 1e9, 1}), rldp::error);
    CHECK_THROWS_AS(build({good.directions, good.variances, 0}), rldp::error);
    CHECK_THROWS_AS(build({good.directions, good.variances * std::nan(""), 1}), rldp::error);
    CHECK_THROWS_AS(build({good.directions, good.variances.narrow(0, 0, 1), 1}), rldp::error);
    CHECK_THROWS_AS(spiked_geometry(at::zeros({5}, at::kDouble), {good}), rldp::error);
}

TEST_CASE("a scalar per adapter gives the minimum-variance allocation's noise") {
    // The minimum-variance allocation with C_p = √(d_p·λ_p): z²·S·√λ_p.
    const std::vector<std::int64_t> sizes{30, 700, 5};
    const std::vector<double> variances{0.2, 3e-4, 11};
    std::vector<spiked_block> blocks;
    std::vector<double> radii;
    for (std::size_t p = 0; p < 3; ++p) {
        blocks.push_back({at::zeros({sizes[p], 0}, at::kDouble), at::zeros({0}, at::kDouble), variances[p]});
        radii.push_back(std::sqrt(static_cast<double>(sizes[p]) * variances[p]));
    }
    const double z = 1.3;
    const auto s = noise_standard_deviations(rldp::allocation::min_variance, z, radii, sizes, {});
    const auto deviations = z * spiked_geometry(at::zeros({735}, at::kDouble), blocks).deviations();
    for (std::size_t p = 0; p < 3; ++p)
        CHECK(deviations[p == 0 ? 0 : p == 1 ? 30 : 730].item<double>() == Approx(s[p]).epsilon(1e-12));
}
