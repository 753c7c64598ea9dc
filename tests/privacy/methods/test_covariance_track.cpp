#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "privacy/methods/geometries.hpp"
#include "tests/catch.hpp"
#include "tests/privacy/methods/dense_covariance.hpp"

using namespace rldp::privacy;

TEST_CASE("a track turns the noise that it knows with its directions") {
    auto track = fresh_track(3, 1, 1);
    track = updated(track, at::tensor({0.0, 1000.0, 0.0}, at::kDouble), at::tensor({0.9, 0.1}, at::kDouble), 1);
    CHECK(at::allclose(track.directions.square().squeeze(1), at::tensor({0.0, 1.0, 0.0}, at::kDouble)));
    // The first axis, where the noise was .9, is one of two outside now.
    CHECK(at::allclose(track.noise, at::tensor({0.1, 0.5}, at::kDouble), 1e-9, 0));
}

TEST_CASE("the largest eigenvalue of weighted noise is the edge") {
    at::manual_seed(7);
    for (std::int64_t size : {100, 375, 1500}) {
        const auto ages = at::arange(700, at::kDouble);
        const auto weights = (1 - track_memory) * at::pow(track_memory, ages);
        double largest = 0;
        for (int i = 0; i < 4; ++i) {
            const auto rows = at::randn({700, size}, at::kDouble) * weights.sqrt().unsqueeze(1);
            largest += at::linalg_eigvalsh(rows.matmul(rows.t())).max().item<double>() / 4;
        }
        CHECK(noise_edge((1 - track_memory) * static_cast<double>(size)) == Approx(largest).epsilon(0.06));
    }
    CHECK(noise_edge(0.01) == Approx(1.1481).epsilon(1e-3));
    for (double ratio : {1e-6, 0.3, 3.75, 4e4}) {
        const double edge = noise_edge(ratio);
        CHECK(edge > 1);
        CHECK(edge - 1 - std::log(edge) == Approx(ratio).epsilon(1e-6));
    }
}

TEST_CASE("a track keeps the trace of all that was released, and that of its noise") {
    at::manual_seed(8);
    const std::int64_t size = 12, rank = 3;
    const double batch = 16;
    auto track = fresh_track(size, rank, 0.2);
    const auto noise = at::tensor({4e-3, 3e-3, 2e-3, 1e-3}, at::kDouble);
    const double noise_trace = batch * (4e-3 + 3e-3 + 2e-3 + 9 * 1e-3);
    double energy = 0.2 * size + noise_trace;  // the assumption before the first release, with that noise
    for (int t = 0; t < 20; ++t) {
        const auto y = at::randn({size}, at::kDouble);
        energy = track_memory * energy + (1 - track_memory) * batch * y.square().sum().item<double>();
        track = updated(track, y, noise, batch);
        const auto total = [&](const at::Tensor& values) {
            return (values.narrow(0, 0, rank).sum() + (size - rank) * values[rank]).item<double>();
        };
        CHECK(total(track.energies) == Approx(energy).epsilon(1e-12));
        CHECK(total(track.noise) == Approx(noise_trace).epsilon(1e-12));
        CHECK((track.noise > 0).all().item<bool>());
    }
}

TEST_CASE("a track is the dense moving average where that has no more directions than the track") {
    at::manual_seed(8);
    const std::int64_t size = 12, rank = 3;
    const double batch = 16;
    const auto plane = orthonormal(size, rank);
    auto track = fresh_track(size, rank, 0.2);
    auto exact = 0.2 * at::eye(size, at::kDouble);
    for (int t = 0; t < 20; ++t) {
        const auto y = plane.matmul(at::randn({rank}, at::kDouble));
        exact = track_memory * exact + (1 - track_memory) * batch * at::outer(y, y);
        track = updated(track, y, at::full({rank + 1}, 1e-12, at::kDouble), batch);
        const auto spikes = track.energies.narrow(0, 0, rank);
        CHECK(near(dense({track.directions, spikes, track.energies[rank].item<double>()}), exact, 1e-9));
    }
}

TEST_CASE("Sigma does not feed on the noise that it orders, where without the subtraction it does") {
    const std::int64_t size = 2000, rank = 4;
    const double batch = 256, z = 1, first = 1.0 / static_cast<double>(size);
    // Each step's noise is a multiple z²·d/B of Σ on Σ's own scale: 7.8.
    CHECK(z * z * static_cast<double>(size) / batch > 1);
    for (bool told : {true, false}) {
        at::manual_seed(9);
        auto track = fresh_track(size, rank, first);
        double largest = 0;
        for (int t = 0; t < 200; ++t) {
            const spiked_geometry shape(at::zeros({size}, at::kDouble), {estimate_covariance(track, 1e-12 * first)});
            const auto y = shape.colour(at::randn({size}, at::kDouble)) * (z / batch);
            const auto& now = shape.blocks().front();
            const auto roots = at::cat({now.variances, at::full({1}, now.tail, at::kDouble)}).sqrt();
            const auto noise = roots * (z * z / batch / batch * shape.root_trace());
            track = updated(track, y, told ? noise : at::zeros_like(noise), batch);
            largest = std::max(largest, shape.deviations().max().item<double>());
        }
        if (told)
            CHECK(largest < 1.2);
        else
            CHECK(largest > 100);
    }
}
