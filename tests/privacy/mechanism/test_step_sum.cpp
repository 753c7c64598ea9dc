// Sums in whole numbers: exact, without an order, and no unit longer than its bound.
#include "privacy/mechanism/sanitizer.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <random>

#include "privacy/mechanism/statistics.hpp"
#include "privacy/methods/geometries.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

namespace {

constexpr std::int64_t entries_of_unit = 700;

/// Terms of one kind after the other.
step_terms make_terms(int kind, std::mt19937& dice) {
    std::uniform_real_distribution<double> within(0.01, 2);
    step_terms out;
    const bool grouped = kind < 3;
    out.radii = grouped ? std::vector<double>{within(dice), within(dice)} : std::vector<double>{within(dice)};
    out.rule = std::array{clip_rule::clip,       clip_rule::normalise, clip_rule::psac,
                          clip_rule::batch_mean, clip_rule::clip,      clip_rule::clip}
                   .at(static_cast<std::size_t>(kind));
    if (out.rule == clip_rule::normalise || out.rule == clip_rule::psac) out.stabiliser = 0.01;
    if (kind == 4)
        out.shape = std::make_shared<diagonal_geometry>(at::randn({entries_of_unit}, at::kDouble) * 0.01,
                                                        at::rand({entries_of_unit}, at::kDouble) + 0.01);
    if (kind == 5)
        out.shape = std::make_shared<spiked_geometry>(
            at::zeros({entries_of_unit}, at::kDouble),
            std::vector<spiked_block>{{std::get<0>(at::linalg_qr(at::randn({entries_of_unit, 3}, at::kDouble))),
                                       at::tensor({100., 10., 2.}, at::kDouble), 0.5}});
    if (grouped) {
        statistics_frame frame;
        frame.trackers.assign(2, {0.5, 1, 2});
        out.measured = measure_statistics(frame);
        out.measurement_multiplier = 5;
    }
    return out;
}

std::vector<segment> segments_for(const step_terms& terms) {
    return terms.radii.size() == 2 ? make_segments({300, 400}) : make_segments({entries_of_unit});
}

std::vector<unit_gradients> micro_batches(std::mt19937& dice) {
    std::vector<unit_gradients> out;
    for (int i = 0; i < 7; ++i) {
        const auto units = static_cast<std::int64_t>(dice() % 5);
        const auto spread = at::randn({units, 1}).exp() * 0.1;
        out.push_back({at::randn({units, entries_of_unit}) * spread, at::rand({units}, at::kDouble) * 3});
    }
    return out;
}

}  // namespace

TEST_CASE(
    "however micro-batches are shared out among ranks, and in whatever order, the sum is the same to the last bit") {
    std::mt19937 dice(11);
    at::manual_seed(11);
    for (int round = 0; round < 60; ++round) {
        const auto terms = make_terms(round % 6, dice);
        const auto segments = segments_for(terms);
        const auto batches = micro_batches(dice);
        step_sum alone(segments, terms);
        for (const auto& batch : batches) alone.add(batch);
        const auto one = alone.of(alone.numbers());

        const std::size_t ranks = 2 + dice() % 4;
        std::vector<step_sum> parts(ranks, step_sum(segments, terms));
        auto order = batches;
        std::shuffle(order.begin(), order.end(), dice);
        for (const auto& batch : order) parts[dice() % ranks].add(batch);
        auto sum = at::zeros_like(alone.numbers());
        for (auto& part : parts) sum += part.numbers();
        const auto together = alone.of(sum);
        INFO("kind " << round % 6);
        CHECK(at::equal(alone.gradient(one), alone.gradient(together)));
        CHECK(one.measured == together.measured);
    }
}

TEST_CASE("rounded to the grid, no unit is longer than its radius, and all but nothing of it is lost") {
    std::mt19937 dice(12);
    at::manual_seed(12);
    for (int round = 0; round < 60; ++round) {
        const int kind = std::array{0, 1, 2, 4, 5}.at(static_cast<std::size_t>(round % 5));
        const auto terms = make_terms(kind, dice);
        const auto segments = segments_for(terms);
        const unit_gradients unit{at::randn({1, entries_of_unit}) * std::exp(static_cast<double>(round % 7) - 3),
                                  at::ones({1}, at::kDouble)};
        step_sum sum(segments, terms);
        sum.add(unit);
        const auto got = sum.gradient(sum.of(sum.numbers()));
        INFO("kind " << kind);
        if (terms.shape) {
            CHECK(terms.shape->norms(got.unsqueeze(0)).item<double>() <= terms.radii[0]);
            continue;
        }
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < segments.size(); ++i) {
            const auto part = got.narrow(0, offset, segments[i].size);
            const auto raw = unit.gradients[0].narrow(0, offset, segments[i].size).to(at::kDouble);
            const double factor =
                clip_factors(terms.rule, raw.norm().reshape({1, 1}), {terms.radii[i]}, terms.stabiliser).item<double>();
            CHECK(part.norm().item<double>() <= terms.radii[i]);
            CHECK((part - raw * factor).abs().max().item<double>() <= terms.radii[i] / per_unit * (1 + 1e-6));
            CHECK((part.abs() <= (raw * factor).abs() * (1 + 1e-12)).all().item<bool>());
            offset += segments[i].size;
        }
    }
}

TEST_CASE("a mean over ranks is of all their units") {
    step_terms terms;
    terms.radii = {100};
    terms.rule = clip_rule::batch_mean;
    const auto segments = make_segments({3});
    step_sum first(segments, terms), second(segments, terms);
    first.add({at::tensor({3.f, 0.f, 0.f}).reshape({1, 3}), at::ones({1}, at::kDouble)});
    second.add({at::tensor({0.f, 3.f, 0.f, 0.f, 0.f, 6.f}).reshape({2, 3}), at::ones({2}, at::kDouble)});
    const auto mean = first.gradient(first.of(first.numbers() + second.numbers()));
    CHECK(at::allclose(mean, at::tensor({1., 1., 2.}, at::kDouble), 0, 1e-4));
}

TEST_CASE("an empty share adds nothing, and a sum of another length is refused") {
    const auto segments = make_segments({3});
    step_terms terms;
    terms.radii = {1};
    step_sum empty(segments, terms);
    CHECK(empty.numbers().equal(at::zeros({4}, at::kLong)));
    CHECK_THROWS_AS(empty.of(at::zeros({5}, at::kLong)), rldp::error);
}

TEST_CASE("a unit whose factor is beyond all numbers counts as zero") {
    step_terms terms;
    terms.radii = {1};
    terms.rule = clip_rule::normalise;
    terms.stabiliser = 1e-300;
    const auto segments = make_segments({3});
    const auto row = at::tensor({3.f, 0.f, 4.f}).reshape({1, 3});
    step_sum with(segments, terms), without(segments, terms);
    with.add({at::cat({at::zeros({1, 3}), row, at::full({1, 3}, 1e-44f)}), at::ones({3}, at::kDouble)});
    without.add({row, at::ones({1}, at::kDouble)});
    // The smallest that float32 has is still made as long as its radius: its norm is what keeps its factor finite.
    const auto beside = with.gradient(with.of(with.numbers())) - without.gradient(without.of(without.numbers()));
    CHECK(beside.norm().item<double>() <= 1);
    CHECK(beside.norm().item<double>() > 0.99);
}

TEST_CASE("under a geometry a segment has no one step, and is not said to have one") {
    std::mt19937 dice(13);
    for (const int kind : {4, 5}) {
        const auto terms = make_terms(kind, dice);
        step_sum sum(segments_for(terms), terms);
        const auto all = sum.of(sum.numbers());
        CHECK_THROWS_AS(sum.steps(all), rldp::error);
        CHECK(sum.gradient(all).equal(at::zeros({entries_of_unit}, at::kDouble)));
    }
}
