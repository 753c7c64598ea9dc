#include "privacy/mechanism/sanitizer.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "privacy/mechanism/declassify_unsound.hpp"
#include "privacy/mechanism/statistics.hpp"
#include "tests/catch.hpp"
#include "tests/support/charges.hpp"
#include "tests/support/goodness.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/threads.hpp"

using namespace rldp::privacy;

namespace {

const std::vector<std::int64_t> sizes = {3000, 5000, 2000};
constexpr std::int64_t coordinates = 10000;
const std::vector<double> radii = {0.05, 1, 0.3};

statistics_frame frame() {
    statistics_frame out;
    out.trackers.assign(sizes.size(), {0.5, 1, 2});
    return out;
}

/// With statistics that get this share of 1/z².
step_order order(std::uint64_t seq, double z = 1, double share = 0.02, const statistics_frame& seen = frame()) {
    step_order out{rldp::testing::charged_at(seq, z), {}};
    out.terms.radii = radii;
    if (share == 0) return out;
    out.terms.measured = measure_statistics(seen);
    out.terms.measurement_multiplier = measurement_multiplier(z, share);
    return out;
}

sanitizer make(rldp::allocation how = rldp::allocation::proportional, bool as_published = false) {
    return sanitizer({make_segments(sizes), how, as_published}, run_key::insecure_from_seed(11));
}

/// z_g beside statistics of that share.
double left_for_gradient(double z, double share) {
    return gradient_multiplier(z, measurement_multiplier(z, share));
}

release one_step(sanitizer by, const std::vector<unit_gradients>& batches, const step_order& how) {
    by.begin(how);
    for (const auto& batch : batches) by.add(batch);
    return by.finish();
}

/// Gradients of norms from far below to far above the radii.
unit_gradients random_batch(std::int64_t units, std::uint64_t seed, double scale = 1) {
    at::manual_seed(static_cast<std::int64_t>(seed));
    const auto spread = at::randn({units, 1}).exp() * (0.02 * scale);
    return {at::randn({units, coordinates}) * spread, at::rand({units}, at::kDouble) * 3};
}

std::vector<double> group(const at::Tensor& flat, std::size_t i) {
    std::int64_t offset = 0;
    for (std::size_t j = 0; j < i; ++j) offset += sizes[j];
    const auto part = flat.narrow(0, offset, sizes[i]).to(at::kDouble).contiguous();
    return {part.data_ptr<double>(), part.data_ptr<double>() + sizes[i]};
}

}  // namespace

TEST_CASE("norms per group are those of float64") {
    auto batch = random_batch(7, 1, 1e18);
    batch.gradients[2] *= 1e-30;
    const auto result = group_norms(batch.gradients, make_segments(sizes));
    std::int64_t offset = 0;
    for (std::int64_t i = 0; i < 3; ++i) {
        const auto d = sizes[static_cast<std::size_t>(i)];
        const auto expected = batch.gradients.narrow(1, offset, d).to(at::kDouble).square().sum(1).sqrt();
        CHECK(at::allclose(result.norms.select(1, i), expected, 1e-13, 0));
        offset += d;
    }
    CHECK(result.finite.all().item<bool>());
    batch.gradients[1][9999] = std::nan("");
    batch.gradients[4][0] = std::numeric_limits<float>::infinity();
    batch.gradients[5][0] = std::numeric_limits<float>::max();
    const auto broken = group_norms(batch.gradients, make_segments(sizes));
    CHECK(broken.finite.sum().item<std::int64_t>() == 5);
    CHECK(broken.norms.isfinite().all().item<bool>());
    CHECK(broken.norms[1].abs().sum().item<double>() == 0);
    CHECK(broken.norms[4].abs().sum().item<double>() == 0);
}

TEST_CASE("no clipped group is longer than its radius, in float64") {
    for (double scale : {1e-6, 1.0, 1e6, 1e12, 1e30}) {
        for (double radius : {1e-3, 0.1, 1.0, 1e3}) {
            const auto gradients = random_batch(40, 3, scale).gradients;
            const auto norms = group_norms(gradients, {{coordinates, 0}}).norms;
            const auto factors = clip_factors(clip_rule::clip, norms, {radius}, 0);
            const auto clipped = (gradients.to(at::kDouble) * factors).square().sum(1).sqrt();
            CHECK((clipped <= radius).all().item<bool>());
            const auto lambda = (radius / (norms + 1e-6)).clamp_max(1);
            CHECK(at::allclose(factors, lambda, 2e-9, 0));
        }
    }
}

TEST_CASE("a release is the clipped sum plus noise, whatever the micro-batches") {
    const auto batch = random_batch(9, 4);
    auto expected = at::zeros({coordinates}, at::kDouble);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        const auto g = batch.gradients.narrow(1, offset, sizes[i]).to(at::kDouble);
        const auto lambda = (radii[i] / (g.norm(2, 1) + 1e-6)).clamp_max(1);
        expected.narrow(0, offset, sizes[i]) += (g * lambda.unsqueeze(1)).sum(0);
        offset += sizes[i];
    }
    const double z = 1e-7;  // noise of 1e-7, to see the sum
    const auto whole = one_step(make(), {batch}, order(1, z));
    CHECK(at::allclose(whole.gradient.to(at::kDouble), expected, 1e-6, 3e-6));
    CHECK(whole.gradient.scalar_type() == at::kFloat);
    const unit_gradients first{batch.gradients.narrow(0, 0, 4), batch.losses.narrow(0, 0, 4)};
    const unit_gradients second{batch.gradients.narrow(0, 4, 5), batch.losses.narrow(0, 4, 5)};
    const auto parts = one_step(make(), {first, second}, order(1, z));
    CHECK(at::allclose(parts.gradient, whole.gradient, 1e-6, 1e-12));
    CHECK(parts.statistics.size() == 3 * 3 + 5);
    CHECK(whole.charged->seq == 1);
    CHECK(whole.charged->noise_multiplier == z);
}

TEST_CASE("a release is the clipped sum plus noise where segments share a group, and groups follow no order") {
    const std::vector<segment> shared = {{3000, 1}, {5000, 0}, {2000, 1}};
    auto how = order(1, 1e-7, 0);
    how.terms.radii = {0.05, 1};
    const auto batch = random_batch(9, 4);
    const auto released = one_step(sanitizer({.segments = shared}, run_key::insecure_from_seed(11)), {batch}, how);
    clipped_sum sum(shared, how.terms);
    sum.add(batch);
    CHECK(at::allclose(released.gradient.to(at::kDouble), sum.take(), 1e-6, 3e-6));
}

TEST_CASE("one unit more or less moves the scaled release by at most 1/z, and no less than it may") {
    const auto without = random_batch(6, 5);
    for (auto how : {rldp::allocation::shares, rldp::allocation::proportional, rldp::allocation::uniform,
                     rldp::allocation::min_variance}) {
        const auto one = random_batch(1, 6, 1e4);
        const unit_gradients with{at::cat({without.gradients, one.gradients}), at::cat({without.losses, one.losses})};
        // The same noise in both, so the difference is the unit's part alone.
        const double z = 0.7, share = 0.02;
        const auto a = one_step(make(how), {without}, order(1, z, share));
        const auto b = one_step(make(how), {with}, order(1, z, share));
        const double z_g = left_for_gradient(z, share);
        const auto s = noise_standard_deviations(how, z_g, radii, sizes, {});
        double gradient_part = 0, statistics_part = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            for (double d : group(b.gradient - a.gradient, i)) gradient_part += d * d / (s[i] * s[i]);
        }
        const double deviation = measurement_multiplier(z, share) * weights_for(3).sensitivity(3);
        for (std::size_t j = 0; j < a.statistics.size(); ++j) {
            const double d = (b.statistics[j] - a.statistics[j]) / deviation;
            statistics_part += d * d;
        }
        CHECK(std::sqrt(gradient_part + statistics_part) < 1 / z + 1e-4);
        CHECK(std::sqrt(gradient_part) > 0.999 / z_g);
        CHECK(statistics_part > 0);
    }
}

TEST_CASE("noise has each group's deviation, not 2/3 or 3/2 of it, and an empty draw is all noise") {
    for (auto how : {rldp::allocation::shares, rldp::allocation::proportional, rldp::allocation::uniform,
                     rldp::allocation::min_variance}) {
        auto pure = order(3, 0.8, 0.1);
        pure.terms.shares = {0.2, 0.3, 0.5};
        const auto out = one_step(make(how), {}, pure);
        const auto s = noise_standard_deviations(how, left_for_gradient(0.8, 0.1), radii, sizes, pure.terms.shares);
        for (std::size_t i = 0; i < 3; ++i) {
            const auto x = group(out.gradient, i);
            CHECK(fits(x, s[i]));
            CHECK(ks(x, s[i] * 2 / 3) > 2.3);
            CHECK(ks(x, s[i] * 3 / 2) > 2.3);
            CHECK(variance_score(x, s[i] * 2 / 3) > 4);
            CHECK(variance_score(x, s[i] * 3 / 2) < -4);
        }
    }
}

TEST_CASE("the noise covers the rounding margin too, in the gradient and in the statistics") {
    constexpr double eta = 0.5;  // large, to be seen
    sanitizer by({make_segments(sizes), rldp::allocation::proportional, false, eta}, run_key::insecure_from_seed(11));
    std::vector<double> x;
    for (std::uint64_t seq = 1; seq <= 100; ++seq) {
        by.begin(order(seq, 0.8, 0.1));
        const auto out = by.finish();
        x.insert(x.end(), out.statistics.begin(), out.statistics.end());
        if (seq > 1) continue;
        const auto s =
            noise_standard_deviations(rldp::allocation::proportional, left_for_gradient(0.8, 0.1), radii, sizes, {});
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(fits(group(out.gradient, i), (1 + eta) * s[i]));
            CHECK_FALSE(fits(group(out.gradient, i), s[i]));
        }
    }
    const double s = measurement_multiplier(0.8, 0.1) * weights_for(3).sensitivity(3);
    CHECK(fits(x, (1 + eta) * s));
    CHECK_FALSE(fits(x, s));
}

TEST_CASE("rows that stand for no unit add nothing, whatever they hold") {
    const auto batch = random_batch(5, 7);
    for (const auto share : {0.0, 0.02}) {
        auto padded = batch;
        padded.gradients = at::cat({batch.gradients, at::zeros({3, coordinates})});
        padded.losses = at::cat({batch.losses, at::zeros({3}, at::kDouble)});
        padded.dummies = 3;
        const auto a = one_step(make(), {batch}, order(1, 1, share)),
                   b = one_step(make(), {padded}, order(1, 1, share));
        CHECK(at::equal(a.gradient, b.gradient));
        CHECK(a.statistics == b.statistics);
        for (const float filling : {7.0F, std::nanf("")}) {
            padded.gradients.slice(0, 5).fill_(filling);
            CHECK(at::equal(a.gradient, one_step(make(), {padded}, order(1, 1, share)).gradient));
        }
    }
}

TEST_CASE("a mean over nobody is zero, whether dummies stand for them or not") {
    auto by_mean = order(1);
    by_mean.terms.rule = clip_rule::batch_mean;
    auto nobody = random_batch(3, 7);
    nobody.dummies = 3;
    const auto without = one_step(make(), {}, by_mean).gradient, with = one_step(make(), {nobody}, by_mean).gradient;
    CHECK(with.isfinite().all().item<bool>());
    CHECK(at::equal(with, without));
}

TEST_CASE("statistics noise has its deviation over many steps") {
    auto by = make();
    std::vector<double> x;
    for (std::uint64_t seq = 1; seq <= 150; ++seq) {
        by.begin(order(seq, 0.8, 0.1));
        const auto out = by.finish();
        x.insert(x.end(), out.statistics.begin(), out.statistics.end());
    }
    const double s = measurement_multiplier(0.8, 0.1) * weights_for(3).sensitivity(3);
    CHECK(fits(x, s));
    CHECK_FALSE(fits(x, s * 2 / 3));
    CHECK_FALSE(fits(x, s * 3 / 2));
}

TEST_CASE("noise of other groups and steps is uncorrelated, the same step gives the same release") {
    const auto first = one_step(make(), {}, order(1));
    const auto second = one_step(make(), {}, order(2));
    const auto a = group(first.gradient, 0), b = group(first.gradient, 1), c = group(second.gradient, 0);
    CHECK(std::abs(correlation_score(a, std::span(b).first(a.size()))) < 4);
    CHECK(std::abs(correlation_score(a, c)) < 4);
    CHECK(at::equal(first.gradient, one_step(make(), {}, order(1)).gradient));
}

TEST_CASE("noise is that of a stream for each segment, drawn early or, where it is large, at the end") {
    const auto sizes = GENERATE(std::vector<std::int64_t>{20000, 100}, std::vector<std::int64_t>{1 << 24, 100003});
    const auto key = run_key::insecure_from_seed(11);
    const sanitizer_config config{.segments = make_segments(sizes)};
    auto step = order(5, 0.8, 0);
    step.terms.radii = {0.2, 1};
    const auto released = one_step(sanitizer(config, key), {}, step).gradient;
    const auto deviations = compute_noise_deviations(config, step.charged, step.terms);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        auto noise = at::empty({sizes[i]}, at::kDouble);
        random_stream(key, purpose::noise, 5, i)
            .normals({noise.data_ptr<double>(), static_cast<std::size_t>(noise.numel())});
        const double grid = deviations[i] * 0x1p-20;
        const auto expected = noise.mul_(deviations[i]).div_(grid).round_().mul_(grid).to(at::kFloat);
        CHECK(at::equal(released.narrow(0, offset, sizes[i]), expected));
        offset += sizes[i];
    }
}

TEST_CASE("a release is the same bits on any number of threads") {
    const std::vector<std::int64_t> large = {300001, 90000, 7};
    at::manual_seed(13);
    const unit_gradients batch{at::randn({5, 390008}), at::rand({5}, at::kDouble)};
    const auto released = [&](int threads) {
        const rldp::testing::on_threads so_many(threads);
        return one_step(sanitizer({.segments = make_segments(large)}, run_key::insecure_from_seed(11)), {batch},
                        order(5));
    };
    const auto alone = released(1);
    for (const int threads : {2, 3, 7}) {
        const auto shared = released(threads);
        CHECK(at::equal(shared.gradient, alone.gradient));
        CHECK(shared.statistics == alone.statistics);
    }
}

TEST_CASE("a unit with a non-finite gradient counts as no unit") {
    const auto batch = random_batch(5, 7);
    for (float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
        auto broken = random_batch(1, 8).gradients;
        broken[0][coordinates - 1] = bad;
        const unit_gradients with{at::cat({broken, batch.gradients}),
                                  at::cat({at::ones({1}, at::kDouble), batch.losses})};
        const auto a = one_step(make(), {batch}, order(1));
        const auto b = one_step(make(), {with}, order(1));
        CHECK(at::equal(a.gradient, b.gradient));
        CHECK(a.statistics == b.statistics);
        const auto only = one_step(make(), {{broken, at::ones({1}, at::kDouble)}}, order(1));
        CHECK(at::equal(only.gradient, one_step(make(), {}, order(1)).gradient));
    }
    // A loss alone that is not finite leaves its unit's gradient in.
    auto lost = batch;
    lost.losses = batch.losses.clone();
    lost.losses[0] = std::nan("");
    const auto out = one_step(make(), {lost}, order(1));
    CHECK(at::equal(out.gradient, one_step(make(), {batch}, order(1)).gradient));
    for (double value : out.statistics) CHECK(std::isfinite(value));
}

TEST_CASE("releases lie on the public grid") {
    sanitizer by({{{coordinates, 0}}, rldp::allocation::proportional, false}, run_key::insecure_from_seed(12));
    statistics_frame one;
    one.trackers.assign(1, {0.5, 1, 2});
    auto how = order(1, std::sqrt(0.5), 0.5, one);  // z_g = 1 and s = 0.5 exactly, so floats hold the grid
    how.terms.radii = {0.5};
    by.begin(how);
    by.add(random_batch(5, 9));
    const auto out = by.finish();
    const auto steps = out.gradient.to(at::kDouble) * 0x1p21;
    CHECK((steps - steps.round()).abs().max().item<double>() < 1e-4);
    CHECK(steps.abs().max().item<double>() > 1e5);
    const double grid = how.terms.measurement_multiplier * weights_for(1).sensitivity(1) * 0x1p-20;
    for (double value : out.statistics) CHECK(std::abs(value / grid - std::round(value / grid)) < 1e-6);
}

TEST_CASE("orders out of order or out of range are refused") {
    auto by = make();
    CHECK_THROWS_AS(by.finish(), rldp::error);
    CHECK_THROWS_AS(by.add(random_batch(1, 1)), rldp::error);
    by.begin(order(5));
    CHECK_THROWS_AS(by.add({at::zeros({2, 10}), at::zeros({2}, at::kDouble)}), rldp::error);
    CHECK_THROWS_AS(by.add({at::zeros({2, coordinates}), at::zeros({3}, at::kDouble)}), rldp::error);
    by.finish();
    CHECK_THROWS_AS(by.finish(), rldp::error);
    CHECK_THROWS_AS(by.begin(order(5)), rldp::error);  // the same noise twice
    auto few = order(6);
    few.terms.radii = {1, 1};
    CHECK_THROWS_AS(by.begin(few), rldp::error);
    auto short_frame = frame();
    short_frame.trackers.pop_back();
    CHECK_THROWS_AS(by.begin(order(6, 1, 0.02, short_frame)), rldp::error);
    few = order(6);
    few.terms.measured = nullptr;  // a share without what it is for
    CHECK_THROWS_AS(by.begin(few), rldp::error);
    few = order(6);
    few.terms.measurement_multiplier = few.charged->noise_multiplier;  // nothing left for the gradient
    CHECK_THROWS_AS(by.begin(few), rldp::error);
    by.begin(order(6));
    const auto key = run_key::insecure_from_seed(1);
    CHECK_THROWS_AS(sanitizer({{}, rldp::allocation::uniform, false}, key), rldp::error);
    CHECK_THROWS_AS(sanitizer({make_segments({3, 0}), rldp::allocation::uniform, false}, key), rldp::error);
    CHECK_THROWS_AS(sanitizer({{{3, 1}}, rldp::allocation::uniform, false}, key), rldp::error);
}

TEST_CASE("without a statistics share there are none") {
    const auto out = one_step(make(rldp::allocation::uniform), {random_batch(2, 1)}, order(1, 1, 0));
    CHECK(out.statistics.empty());
}

TEST_CASE("as published: sigma times C on every group, and raw statistics behind the acknowledgement only") {
    auto by = make(rldp::allocation::uniform, true);
    by.begin(order(1, 0.9, 0));
    auto out = by.finish();
    CHECK(by.raw().units == 0);
    for (std::size_t i = 0; i < 3; ++i) CHECK(fits(group(out.gradient, i), 0.9 * radii[i]));
    CHECK(out.statistics.empty());

    const auto batch = random_batch(31, 10);
    by.begin(order(2, 0.9, 0));
    by.add(batch);
    out = by.finish();
    const auto& raw = by.raw();
    CHECK(raw.units == 31);
    CHECK(raw.loss == Approx(batch.losses.mean().item<double>()));
    const auto norms = group_norms(batch.gradients, make_segments(sizes)).norms;
    CHECK(raw.quartiles[1][1] == Approx(norms.select(1, 1).median().item<double>()));
    CHECK(raw.quartiles[1][0] < raw.quartiles[1][1]);
    CHECK(raw.variance == Approx(norms.var(false).item<double>()));
    CHECK(raw.fisher_mean == Approx(norms.square().mean().item<double>()));
    CHECK(raw.kurtosis >= 1 + raw.skewness * raw.skewness);

    CHECK_FALSE(out.unsound.has_value());
    CHECK(has(refusal([] { acknowledgement refused(false); }), "privacy.acknowledge_no_guarantee"));
    declassify_unsound(acknowledgement(true), raw, out);
    CHECK(out.unsound->units == 31);
}
