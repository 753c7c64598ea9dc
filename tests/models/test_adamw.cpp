#include <torch/optim/adamw.h>

#include <vector>

#include "base/error.hpp"
#include "models/adamw.hpp"
#include "tests/models/support.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

TEST_CASE("AdamW's first steps are those worked out by hand", "[adamw]") {
    // Gradients 0.5, then -1, at rate 0.1. Step 1: m/c1 = 0.5, v/c2 = 0.25, so the step is 0.1. Step 2: m = -0.055,
    // v = 0.00124975, m/c1 = -0.289473684, v/c2 = 0.625187594, so the step is -0.0366103.
    adamw plain(at::ones({1}));
    plain.step(at::full({1}, 0.5), 0.1);
    CHECK(plain.parameters().item<double>() == Approx(0.9).epsilon(1e-6));
    plain.step(at::full({1}, -1.0), 0.1);
    CHECK(plain.parameters().item<double>() == Approx(0.9366103).epsilon(1e-6));

    // Decay is decoupled: 1·(1 - 0.1·0.1) - 0.1.
    adamw decayed(at::ones({1}), {0.9, 0.999, 1e-8, 0.1});
    decayed.step(at::full({1}, 0.5), 0.1);
    CHECK(decayed.parameters().item<double>() == Approx(0.89).epsilon(1e-6));
}

TEST_CASE("AdamW follows torch's own", "[adamw]") {
    at::manual_seed(3);
    auto theirs = at::randn({50}).requires_grad_();
    adamw ours(theirs.detach().clone(), {0.8, 0.95, 1e-6, 0.05});
    torch::optim::AdamW optimizer(
        {theirs}, torch::optim::AdamWOptions(0.02).betas(std::make_tuple(0.8, 0.95)).eps(1e-6).weight_decay(0.05));
    for (int i = 0; i < 30; ++i) {
        const auto gradient = at::randn({50}) * (i % 7 == 0 ? 1e-4 : 1.0);
        theirs.mutable_grad() = gradient.clone();
        optimizer.step();
        ours.step(gradient, 0.02);
    }
    CHECK(largest_difference(ours.parameters(), theirs.detach()) <= 2e-6);
}

TEST_CASE("a step leaves what was handed out as it was, and a snapshot goes on exactly", "[adamw]") {
    const auto start = at::randn({5});
    const auto before = start.clone();
    adamw first(start);
    first.step(at::ones({5}), 0.1);
    const auto snapshot = first.snapshot();
    const auto parameters = snapshot.parameters.clone(), moment = snapshot.first.clone();
    first.step(at::randn({5}), 0.1);
    CHECK(at::equal(start, before));
    CHECK(at::equal(snapshot.parameters, parameters));
    CHECK(at::equal(snapshot.first, moment));

    adamw second(at::zeros({5}));
    second.restore(snapshot);
    first.restore(snapshot);
    const auto gradient = at::randn({5});
    first.step(gradient, 0.1);
    second.step(gradient, 0.1);
    CHECK(at::equal(first.parameters(), second.parameters()));
    CHECK(at::equal(snapshot.first, moment));
    CHECK(second.snapshot().steps == 2);
    CHECK_THROWS_AS(first.step(at::ones({4}), 0.1), error);

    // Nor is memory written to that a state only borrows, and of which no other tensor knows.
    std::vector<float> borrowed(5, 1);
    adamw third(at::zeros({5}));
    third.restore({at::zeros({5}), at::from_blob(borrowed.data(), {5}), at::ones({5}), 0, 1});
    third.step(gradient, 0.1);
    CHECK(borrowed == std::vector<float>(5, 1));
}

TEST_CASE("factors of the rate are rates", "[adamw]") {
    adamw both(at::ones({2}), {.rate_factors = at::tensor({1.0F, 4.0F})});
    adamw slow(at::ones({1})), fast(at::ones({1}));
    for (int i = 0; i < 5; ++i) {
        const auto gradient = at::randn({2});
        both.step(gradient, 0.01);
        slow.step(gradient.narrow(0, 0, 1), 0.01);
        fast.step(gradient.narrow(0, 1, 1), 0.04);
    }
    CHECK(largest_difference(both.parameters(), at::cat({slow.parameters(), fast.parameters()})) <= 1e-6);
}

TEST_CASE("the noise's part of the second moment is taken out, by hand and on average", "[adamw]") {
    // Gradient 0.5 with noise of variance 0.16: v − noise = 0.09, so the step is 0.1·0.5/0.3.
    adamw one(at::ones({1}), {.least_root = 1e-3});
    one.step(at::full({1}, 0.5), 0.1, 0.16);
    CHECK(one.parameters().item<double>() == Approx(1 - 0.1 * 0.5 / 0.3).epsilon(1e-5));
    // Less than the noise: the least root counts, half of the noise's deviation 0.4.
    adamw drowned(at::ones({1}), {.least_root = 0.5});
    drowned.step(at::full({1}, 0.3), 0.1, 0.16);
    CHECK(drowned.parameters().item<double>() == Approx(1 - 0.1 * 0.3 / 0.2).epsilon(1e-5));
    // A constant signal of a tenth of the noise moves at the full rate, where Adam's own moves at a tenth of it.
    at::manual_seed(5);
    adamw plain(at::zeros({2000})), corrected(at::zeros({2000}), {.least_root = 0.01});
    for (int i = 0; i < 4000; ++i) {
        const auto gradient = at::full({2000}, 0.1) + at::randn({2000});
        plain.step(gradient, 1e-3);
        corrected.step(gradient, 1e-3, 1.0);
    }
    const auto before_plain = plain.parameters(), before = corrected.parameters();
    for (int i = 0; i < 1000; ++i) {
        const auto gradient = at::full({2000}, 0.1) + at::randn({2000});
        plain.step(gradient, 1e-3);
        corrected.step(gradient, 1e-3, 1.0);
    }
    CHECK((plain.parameters() - before_plain).mean().item<double>() == Approx(-0.1).epsilon(0.1));
    CHECK((corrected.parameters() - before).mean().item<double>() < -0.5);
}

TEST_CASE("noise alone moves nothing farther than Adam would, once the least root is the noise's own", "[adamw]") {
    at::manual_seed(6);
    adamw plain(at::zeros({2000})), corrected(at::zeros({2000}), {.least_root = 1});
    for (int i = 0; i < 200; ++i) {
        const auto noise = at::randn({2000}) * 1e-3;
        plain.step(noise, 1e-3);
        corrected.step(noise, 1e-3, 1e-6);
    }
    CHECK(corrected.parameters().norm().item<double>() < 1.1 * plain.parameters().norm().item<double>());
}

}  // namespace rldp::models::test
