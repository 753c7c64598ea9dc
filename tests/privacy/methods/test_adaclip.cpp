#include <ATen/ATen.h>

#include <cmath>

#include "base/error.hpp"
#include "privacy/methods/methods.hpp"
#include "tests/catch.hpp"
#include "tests/privacy/methods/simulated_step.hpp"
#include "tests/support/charges.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;

TEST_CASE("adaclip's first step is DP-SGD's") {
    const auto by = make_adaclip(make_test_config("adaclip", {12, 8}, 4, 0.25));
    const auto terms = by->next_terms(1.5);
    CHECK(terms.rule == clip_rule::clip);
    CHECK(terms.radii == std::vector<double>{1});
    CHECK(by->radii().front() == Approx(0.25).epsilon(1e-12));
    CHECK(at::allclose(terms.shape->deviations(), at::full({20}, 0.25, at::kDouble), 1e-12, 0));
    at::manual_seed(1);
    for (double scale : {1e-3, 1.0, 1e4}) {
        const auto units = at::randn({6, 20}) * scale;
        step_terms plain;
        plain.radii = {0.25};
        // The rule adds 1e-6 to the norm; in units of C0 that is a little more.
        CHECK(at::allclose(clipped(terms, units), clipped(plain, units), 1e-5, 1e-9 * scale));
    }
}

TEST_CASE("adaclip's update is the one worked by hand") {
    const auto by = make_adaclip(make_test_config("adaclip", {2}, 4, 0.5));
    auto first = rldp::testing::blank_release();
    first.gradient = at::tensor({2.0F, 1.0F});
    CHECK(at::allclose(by->absorb(first), at::tensor({0.5F, 0.25F})));
    // s² = ⅛, b = ½. v = .9/8 + .1·(4y² − z²b²/4) = .20625 and .13125, their errors 2·(.1·.0625)² each: of the scatter
    // .0028125 about the mean .16875, 1/18 is noise.
    const double s0 = std::sqrt(0.16875 + 0.0375 * 17 / 18), s1 = std::sqrt(0.16875 - 0.0375 * 17 / 18);
    const auto expected = at::tensor({s0 * (s0 + s1), s1 * (s0 + s1)}, at::kDouble).sqrt();
    const auto shape = by->next_terms(1).shape;
    CHECK(at::allclose(shape->deviations(), expected, 1e-12, 0));
    CHECK(at::allclose(shape->centre(), at::tensor({0.005, 0.0025}, at::kDouble), 1e-12, 0));
    CHECK(by->radii().front() == Approx((s0 + s1) / std::sqrt(2)).epsilon(1e-12));

    // Off the centre again: nothing released is the centre, and all variances fall, with debiasing.
    first.gradient = at::zeros({2});
    CHECK(at::allclose(by->absorb(first), at::tensor({0.005F, 0.0025F})));
    const double n0 = s0 * (s0 + s1) / 4, n1 = s1 * (s0 + s1) / 4;  // z²b²/B
    const double v0 = 0.9 * 0.20625 - 0.1 * n0, v1 = 0.9 * 0.13125 - 0.1 * n1;
    const double errors = 2 * 0.81 * 2 * 0.1 * 0.1 * 0.0625 * 0.0625 + 2 * 0.01 * (n0 * n0 + n1 * n1);
    const double mean = (v0 + v1) / 2, half = (v0 - v1) / 2;
    const double kept = 1 - errors / (2 * half * half);
    const double t0 = std::sqrt(mean + kept * half), t1 = std::sqrt(mean - kept * half);
    CHECK(by->radii().front() == Approx((t0 + t1) / std::sqrt(2)).epsilon(1e-12));
    CHECK(by->next_terms(1).shape->deviations()[0].item<double>() == Approx(std::sqrt(t0 * (t0 + t1))).epsilon(1e-12));
}

TEST_CASE(
    "adaclip learns what varies: by coordinate where releases show it, by adapter where they show that, else not at "
    "all") {
    at::manual_seed(2);
    // Half of each adapter varies three times as much, and the second adapter twice as much as the first.
    const auto spread = at::cat({at::full({100}, 0.3, at::kDouble), at::full({100}, 0.1, at::kDouble),
                                 at::full({100}, 0.6, at::kDouble), at::full({100}, 0.2, at::kDouble)}) *
                        0.05;
    const auto ratios = [&](double z) {
        auto config = make_test_config("adaclip", {200, 200}, 64, 0.1);
        config.clip_min = config.clip_max = 0.1;  // the form alone
        const auto by = make_adaclip(config);
        for (int t = 0; t < 60; ++t) {
            const auto terms = by->next_terms(z);
            by->absorb(released(terms, z, clipped(terms, (at::randn({64, 400}, at::kDouble) * spread).to(at::kFloat))));
        }
        const auto b = by->next_terms(z).shape->deviations();
        const auto mean = [&](int from) { return b.narrow(0, from, 100).mean().item<double>(); };
        return std::array<double, 3>{mean(0) / mean(100), mean(200) / mean(0), (b.max() / b.min()).item<double>()};
    };
    const auto clear = ratios(0.02);
    INFO(clear[0] << ' ' << clear[1] << ' ' << clear[2]);
    CHECK(clear[0] == Approx(std::sqrt(3)).epsilon(0.1));
    CHECK(clear[1] == Approx(std::sqrt(2)).epsilon(0.1));
    const auto middling = ratios(0.5), noisy = ratios(20);
    INFO(middling[0] << ' ' << middling[1] << ' ' << middling[2]);
    INFO(noisy[0] << ' ' << noisy[1] << ' ' << noisy[2]);
    CHECK(middling[1] > 1.15);
    CHECK(noisy[2] < 2);
}

TEST_CASE("adaclip: no unit moves the release by more than 1 where the noise is white") {
    at::manual_seed(3);
    const auto by = make_adaclip(make_test_config("adaclip", {40, 25}, 16, 0.3));
    const auto spread = at::randn({65}).exp();
    check_white_norms(*by, spread);
}

TEST_CASE("adaclip does not feed on its own noise, and stays within its radii") {
    at::manual_seed(4);
    const std::int64_t size = 2000;
    const double batch = 256, radius = 0.1;
    // Undebiased, a step would count z²·d/B = 7.8 times the variance that ordered its noise.
    CHECK(static_cast<double>(size) / batch > 1);
    const auto by = make_adaclip(make_test_config("adaclip", {1200, 800}, batch, radius));
    double greatest = 0, spread = 0;
    noise_only(*by, size, 1, 300, [&] {
        const auto b = by->next_terms(1).shape->deviations();
        greatest = std::max(greatest, b.max().item<double>());
        spread = std::max(spread, (b.max() / b.min()).item<double>());
        CHECK(by->radii().front() >= 1e-3 * (1 - 1e-9));
    });
    INFO(greatest << ' ' << spread);
    CHECK(greatest < 2 * radius);
    CHECK(spread < 21.2);  // (D/0.01)^¼: no s² is more than D times their mean or less than a hundredth
    // Releases beyond all measure: the radius stops at clip_max.
    auto huge = rldp::testing::blank_release();
    huge.gradient = at::full({size}, 1e30F);
    by->absorb(huge);
    CHECK(by->radii().front() == Approx(1).epsilon(1e-9));
    huge.gradient[5] = std::nanf("");
    CHECK_THROWS_AS(by->absorb(huge), rldp::error);
}

TEST_CASE("adaclip's state goes through a checkpoint to the bit, and another's is refused") {
    at::manual_seed(5);
    const auto config = make_test_config("adaclip", {30, 3}, 8, 0.2);
    const auto one = make_adaclip(config), other = make_adaclip(config);
    for (int t = 0; t < 6; ++t) one->absorb(released(one->next_terms(0.3), 0.3, at::randn({33}, at::kDouble)));
    const auto state = one->save();
    other->load(state);
    CHECK(same_future(*one, *other, 33));

    const auto fresh = make_adaclip(config), untouched = make_adaclip(config);
    CHECK(has(refusal([&] {
                  fresh->load(make_geoclip(make_test_config("geoclip", {30, 3}, 8, 0.2))->save());
              }),
              "geoclip"));
    CHECK(has(refusal([&] { fresh->load(make_adaclip(make_test_config("adaclip", {33}, 8, 0.2))->save()); }),
              "other adapters"));
    for (const char* name : {"centre", "variances", "errors"}) {
        CHECK(has(refusal([&] { fresh->load(with(state, name, {})); }), name));
        CHECK(has(refusal([&] { fresh->load(with(state, name, at::zeros({33}))); }), name));
        CHECK(has(refusal([&] { fresh->load(with(state, name, at::zeros({32}, at::kDouble))); }), name));
        CHECK(has(refusal([&] { fresh->load(with(state, name, at::full({33}, std::nan(""), at::kDouble))); }), name));
    }
    CHECK(has(refusal([&] { fresh->load({"nonsense", state.tensors}); }), "can't be read"));
    CHECK(same_future(*fresh, *untouched, 33));
}
