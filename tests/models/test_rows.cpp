// Norms and rotations by loops over rows are those that LibTorch's operators make, which float64 still goes through.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include <random>
#include <vector>

#include "models/functions.hpp"

#include "tests/catch.hpp"

using namespace rldp::models;

namespace {

struct outcome {
    at::Tensor value, gradient;
};

template <class F>
outcome of(const at::Tensor& x, const at::Tensor& g, at::ScalarType type, const F& f) {
    auto in = x.to(type).clone().requires_grad_();
    const auto out = f(in, type);
    torch::autograd::backward({out}, {g.to(type)});
    return {out.detach().to(at::kDouble), in.grad().to(at::kDouble)};
}

template <class F>
void compare(const at::Tensor& x, const at::Tensor& g, const F& f) {
    const auto rows = of(x, g, at::kFloat, f), wide = of(x, g, at::kDouble, f);
    CHECK(at::allclose(rows.value, wide.value, 1e-5, 1e-5));
    CHECK(at::allclose(rows.gradient, wide.gradient, 1e-4, 1e-5));
}

}  // namespace

TEST_CASE("norms by rows are those by operators, at any width and with either rule of gains") {
    at::manual_seed(8);
    std::mt19937 random(9);
    for (int i = 0; i < 60; ++i) {
        const auto width = 1 + static_cast<std::int64_t>(random()) % 70,
                   rows = static_cast<std::int64_t>(random()) % 900;
        const auto gain = at::randn({width});
        for (const auto rule : {gain_rule::weight, gain_rule::one_and_weight})
            compare(at::randn({rows, width}), at::randn({rows, width}),
                    [&](auto& x, auto type) { return rms_norm(x, gain.to(type), 1e-5, rule); });
    }
    // A gain that learns has a gradient of its own.
    auto gain = at::randn({6}).requires_grad_();
    auto x = at::randn({5, 6}).requires_grad_();
    torch::autograd::backward({rms_norm(x, gain, 1e-5).sum()}, {});
    const auto normed = x.detach() * (x.detach().square().mean({-1}, true) + 1e-5).rsqrt();
    CHECK(at::allclose(gain.grad(), normed.sum(0), 1e-4, 1e-5));
}

TEST_CASE("rotations by rows are those by operators, where rows differ in position, too") {
    at::manual_seed(10);
    std::mt19937 random(11);
    for (int i = 0; i < 60; ++i) {
        const auto side = [&](std::int64_t most) { return 1 + static_cast<std::int64_t>(random()) % most; };
        const auto b = side(4), length = side(40), heads = side(5), half = side(9);
        const auto frequencies = at::rand({half});
        const auto positions = i % 2 ? at::arange(length) : at::randint(50, {b, length}, at::kLong);
        compare(at::randn({b, length, heads, 2 * half}), at::randn({b, length, heads, 2 * half}),
                [&](auto& x, auto type) {
                    return rotate(x, rotations(frequencies, positions, at::TensorOptions().dtype(type)));
                });
    }
}
