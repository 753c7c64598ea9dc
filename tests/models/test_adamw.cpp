#include <torch/optim/adamw.h>

#include "config/base/error.hpp"
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
    CHECK(second.snapshot().steps == 2);
    CHECK_THROWS_AS(first.step(at::ones({4}), 0.1), error);
}

}  // namespace rldp::models::test
