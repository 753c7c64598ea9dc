#include <ATen/ATen.h>

#include <cmath>

#include "base/error.hpp"
#include "privacy/methods/geometries.hpp"
#include "privacy/methods/methods.hpp"
#include "tests/catch.hpp"
#include "tests/privacy/methods/dense_covariance.hpp"
#include "tests/privacy/methods/simulated_step.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;

namespace {

const spiked_geometry& find_geometry(const step_terms& terms) {
    return dynamic_cast<const spiked_geometry&>(*terms.shape);
}

/// The part of S that directions have.
double spike_share(const spiked_geometry& shape) {
    double sum = 0;
    for (const auto& each : shape.blocks()) sum += each.variances.sqrt().sum().item<double>();
    return sum / shape.root_trace();
}

}  // namespace

TEST_CASE("geoclip: no unit moves the release by more than 1 where the noise is white") {
    at::manual_seed(5);
    const auto by = make_geoclip(make_test_config("geoclip", {40, 25}, 16, 0.3, 3));
    const auto spread = (2 * at::randn({65})).exp();
    check_white_norms(*by, spread);
    const auto shape = by->next_terms(0.5).shape;
    CHECK((shape->deviations().max() > 1.2 * shape->deviations().min()).item<bool>());  // M was no multiple of I
}

TEST_CASE("geoclip's first step is DP-SGD's, and its estimate is the mean about the centre") {
    const auto by = make_geoclip(make_test_config("geoclip", {7, 1, 12}, 4, 0.25, 5));
    const auto terms = by->next_terms(1);
    CHECK(at::allclose(terms.shape->deviations(), at::full({20}, 0.25, at::kDouble), 1e-12, 0));
    at::manual_seed(6);
    const auto c = at::randn({9, 20}, at::kDouble);
    CHECK(at::allclose(terms.shape->norms(c), c.norm(2, 1) / 0.25, 1e-12, 0));
    CHECK(by->radii().front() == Approx(0.25).epsilon(1e-12));
    const auto first = released(terms, 1, at::ones({20}, at::kDouble));
    CHECK(at::allclose(by->absorb(first), first.gradient / 4, 1e-6, 0));
    const auto centre = by->next_terms(1).shape->centre();
    CHECK(at::allclose(centre, first.gradient.to(at::kDouble) / 400, 1e-12, 0));
    auto second = first;
    second.gradient = at::full({20}, 8.0F);
    CHECK(at::allclose(by->absorb(second), (centre + 2).to(at::kFloat), 1e-6, 0));
    second.gradient = at::full({20}, std::nanf(""));
    CHECK_THROWS_AS(by->absorb(second), rldp::error);
    second.gradient = at::zeros({19});
    CHECK_THROWS_AS(by->absorb(second), rldp::error);
}

TEST_CASE("geoclip stays close to DP-SGD where releases say nothing") {
    struct regime {
        std::vector<std::int64_t> sizes;
        double batch, z;
    };
    // The second is a LoRA's: every release is far more noise than covariance.
    for (const auto& [sizes, batch, z] : {regime{{2000}, 256, 1}, regime{std::vector<std::int64_t>(24, 375), 64, 1}}) {
        at::manual_seed(10);
        const auto by = make_geoclip(make_test_config("geoclip", sizes, batch, 0.1));
        const auto coordinates = static_cast<std::int64_t>(sizes.size()) * sizes.front();
        double least = 1, greatest = 0, spikes = 0, off = 0;
        noise_only(*by, coordinates, z, 150, [&] {
            const auto terms = by->next_terms(z);
            const auto d = terms.shape->deviations() / 0.1;
            least = std::min(least, d.min().item<double>());
            greatest = std::max(greatest, d.max().item<double>());
            spikes = std::max(spikes, spike_share(find_geometry(terms)));
            off = std::max(off, std::abs(by->radii().front() / 0.1 - 1));
        });
        INFO(least << ' ' << greatest << ' ' << spikes);
        CHECK(least > 0.4);
        CHECK(greatest < 2.5);
        CHECK(spikes < 0.15);
        CHECK(off < 1e-9);
    }
}

TEST_CASE("geoclip finds a direction under noise, and then clips less at the same noise") {
    at::manual_seed(11);
    const std::int64_t size = 2000, drawn = 256;
    const double radius = 0.1;
    const auto planted = orthonormal(size, 1).squeeze(1);
    const auto batch = [&] {
        const auto along = at::randn({drawn, 1}, at::kDouble) * 0.3;
        return (along * planted + at::randn({drawn, size}, at::kDouble) * (0.05 / std::sqrt(double(size))))
            .to(at::kFloat);
    };
    const auto factor = [&](const geometry& shape) {
        return shape.norms(batch().to(at::kDouble)).reciprocal().clamp_max(1).mean().item<double>();
    };
    const auto by = make_geoclip(make_test_config("geoclip", {size}, static_cast<double>(drawn), radius, 4));
    const double before = factor(*by->next_terms(0.5).shape);
    for (int t = 0; t < 80; ++t) {
        const auto terms = by->next_terms(0.5);
        by->absorb(released(terms, 0.5, clipped(terms, batch())));
        CHECK(by->radii().front() == Approx(radius).epsilon(1e-9));
    }
    const auto terms = by->next_terms(0.5);
    const auto& found = find_geometry(terms).blocks().front();
    const double captured = found.directions.t().matmul(planted).square().sum().item<double>();
    INFO(captured << ' ' << before << ' ' << factor(*terms.shape));
    CHECK(captured > 0.95);
    CHECK(found.variances[0].item<double>() > 100 * found.tail);
    CHECK(factor(*terms.shape) > 1.5 * before);
    CHECK(terms.shape->deviations().square().mean().item<double>() == Approx(radius * radius).epsilon(1e-9));
}

TEST_CASE("geoclip's state goes through a checkpoint to the bit, and another's is refused") {
    for (std::int64_t rank : {0, 3}) {
        at::manual_seed(12);
        const auto config = make_test_config("geoclip", {30, 2, 1}, 8, 0.2, rank);
        const auto one = make_geoclip(config), other = make_geoclip(config);
        for (int t = 0; t < 6; ++t) one->absorb(released(one->next_terms(0.3), 0.3, at::randn({33}, at::kDouble)));
        const auto state = one->save();
        other->load(state);
        CHECK(same_future(*one, *other, 33));

        const auto fresh = make_geoclip(config);
        CHECK(has(refusal([&] {
                      fresh->load(make_adaclip(make_test_config("adaclip", {30, 2, 1}, 8, 0.2))->save());
                  }),
                  "adaclip"));
        CHECK(has(refusal([&] {
                      fresh->load(make_geoclip(make_test_config("geoclip", {30, 3}, 8, 0.2, rank))->save());
                  }),
                  "other adapters"));
        CHECK(has(refusal([&] {
                      fresh->load(make_geoclip(make_test_config("geoclip", {30, 2, 1}, 8, 0.2, rank + 1))->save());
                  }),
                  ".0"));
        CHECK(has(refusal([&] { fresh->load(with(state, "centre", {})); }), "centre"));
        CHECK(has(refusal([&] {
                      fresh->load(with(state, "noise.1",
                                       at::full({std::min<std::int64_t>(rank, 1) + 1}, std::nan(""), at::kDouble)));
                  }),
                  "noise.1"));
        CHECK(has(refusal([&] { fresh->load(with(state, "centre", at::zeros({33}))); }), "centre"));
        if (rank > 0)
            CHECK(has(refusal([&] {
                          fresh->load(with(state, "directions.0", at::ones({30, rank}, at::kDouble)));
                      }),
                      "damaged"));
        const auto untouched = make_geoclip(config);
        CHECK(same_future(*fresh, *untouched, 33));
    }
}
