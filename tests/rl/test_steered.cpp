#include "run/train/steering.hpp"

#include <ATen/ATen.h>

#include <cmath>

#include "base/error.hpp"
#include "privacy/mechanism/noise.hpp"
#include "tests/catch.hpp"
#include "tests/support/charges.hpp"

using namespace rldp;

namespace {

rl::steered_config small_steered() {
    return {.segments = privacy::make_segments({2, 3}),
            .expected_batch = 4,
            .initial_radius = 0.5,
            .clip_min = 0.01,
            .clip_max = 1,
            .rescale = true,
            .initial_loss = 1,
            .statistics_share = 0.02,
            .warmup = 12};
}

/// Without statistics, or with those of a batch in which every norm lies below every tracker.
privacy::release make_release(std::int64_t step, bool statistics) {
    auto out = testing::blank_release(static_cast<std::uint64_t>(step));
    out.gradient = at::tensor({4.0F, 8.0F, 12.0F, 16.0F, 20.0F});
    if (!statistics) return out;
    const auto weights = privacy::weights_for(2);
    out.statistics.assign(11, 0.0);
    for (std::size_t j = 0; j < 6; ++j) out.statistics[j] = weights.quantile * 4 / 2;
    return out;
}

bool equal(const at::Tensor& a, const std::vector<float>& b) {
    return at::allclose(a, at::tensor(b), 1e-6);
}

}  // namespace

TEST_CASE("the estimate is the mean over the expected batch, in units of the step's own radii") {
    auto config = small_steered();
    config.rescale = false;
    rl::steered plain(config);
    CHECK(equal(plain.absorb(make_release(1, false)), {1, 2, 3, 4, 5}));
    rl::steered scaled(small_steered());
    scaled.set({0.5, 0.1}, {});
    CHECK(equal(scaled.absorb(make_release(1, false)), {2, 4, 30, 40, 50}));
    // Radii that move with a release are those of the next step.
    rl::steered moving(small_steered());
    at::Tensor last;
    for (std::int64_t step = 1; step <= 10; ++step) last = moving.absorb(make_release(step, true));
    CHECK(moving.radii()[0] < 0.5);
    CHECK(equal(last, {2, 4, 6, 8, 10}));
}

TEST_CASE("radii follow the private medians during the warm-up only") {
    rl::steered method(small_steered());
    for (std::int64_t step = 1; step <= 10; ++step) method.absorb(make_release(step, true));
    const auto followed = method.radii();
    CHECK(followed[0] == method.base_radii()[0]);
    CHECK(followed[0] < 0.5);
    for (std::int64_t step = 13; step <= 40; ++step) method.absorb(make_release(step, true));
    CHECK(method.base_radii()[0] < followed[0]);
    CHECK(method.radii() == followed);
}

TEST_CASE("radii and shares are what the controller set, also after a checkpoint") {
    rl::steered method(small_steered());
    method.set({0.2, 0.3}, {0.25, 0.75});
    method.set({}, {0.5, 0.5});  // no radii: they stay
    const auto terms = method.next_terms(0.7);
    CHECK(terms.radii == std::vector{0.2, 0.3});
    CHECK(terms.shares == std::vector{0.5, 0.5});
    REQUIRE(terms.measured);
    CHECK(terms.measurement_multiplier == privacy::measurement_multiplier(0.7, 0.02));
    rl::steered other(small_steered());
    method.absorb(make_release(13, true));
    other.load(method.save());
    CHECK(other.radii() == method.radii());
    CHECK(other.next_terms(0.7).shares == terms.shares);
    CHECK(at::equal(other.absorb(make_release(14, true)), method.absorb(make_release(14, true))));
    CHECK(other.last_loss() == method.last_loss());
    CHECK_THROWS_AS(other.load({R"({"method": "static"})", {}}), rldp::error);
    CHECK_THROWS_AS(other.load({R"({"method": "rldp"})", {}}), rldp::error);
}

TEST_CASE("public radii hold from the first step and stay") {
    auto config = small_steered();
    config.public_radii = {0.3, 7};
    rl::steered method(config);
    CHECK(method.radii() == std::vector{0.3, 1.0});  // within [clip_min, clip_max]
    for (std::int64_t step = 1; step <= 12; ++step) method.absorb(make_release(step, true));
    CHECK(method.radii() == std::vector{0.3, 1.0});
    CHECK(method.base_radii() == config.public_radii);
    config.public_radii = {0.3};
    CHECK_THROWS_AS(rl::steered(config), rldp::error);
}

TEST_CASE("radii are relative to a multiple of the medians") {
    auto config = small_steered();
    rl::steered one(config);
    config.radius_scale = 0.25;
    rl::steered quarter(config);
    for (std::int64_t step = 1; step <= 10; ++step) {
        one.absorb(make_release(step, true));
        quarter.absorb(make_release(step, true));
    }
    CHECK(quarter.base_radii()[1] == 0.25 * one.base_radii()[1]);
    CHECK(quarter.radii()[1] == 0.25 * one.radii()[1]);
}

TEST_CASE("without a share nothing is measured") {
    auto config = small_steered();
    config.statistics_share = 0;
    const auto terms = rl::steered(config).next_terms(1);
    CHECK_FALSE(terms.measured);
    CHECK(std::isinf(terms.measurement_multiplier));
}
