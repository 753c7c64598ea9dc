// Products, whoever computes them: of any layout they are the definition's, and autograd sees them.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include <limits>
#include <random>

#include "models/kernels/products.hpp"

#include "tests/catch.hpp"

using namespace rldp::models;

namespace {

/// [rows, columns] of normals, stored in rows or in columns, perhaps as a part of something wider.
at::Tensor stored(std::int64_t rows, std::int64_t columns, std::mt19937& random) {
    const auto turned = random() % 2 == 0;
    const std::int64_t more = static_cast<std::int64_t>(random() % 3) * 5;
    const auto whole = turned ? at::randn({columns + more, rows + more}) : at::randn({rows + more, columns + more});
    return turned ? whole.narrow(0, more, columns).narrow(1, 0, rows).t()
                  : whole.narrow(0, 0, rows).narrow(1, more, columns);
}

/// Of |a|·|b|, which bounds what rounding can do (Higham 2002, §3.1).
double worst(const at::Tensor& found, const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) {
    const auto wide = [](const at::Tensor& t) { return t.to(at::kDouble); };
    const auto size = wide(sum).abs() + at::mm(wide(a).abs(), wide(b).abs()) + 1e-30;
    return ((wide(found) - wide(sum) - at::mm(wide(a), wide(b))).abs() / size).max().item<double>();
}

}  // namespace

TEST_CASE("products of matrices in any layout are those of the definition") {
    at::manual_seed(3);
    std::mt19937 random(5);
    const auto side = [&](std::int64_t most) { return 1 + static_cast<std::int64_t>(random()) % most; };
    for (int i = 0; i < 200; ++i) {
        const auto n = side(300), k = side(i % 10 == 0 ? 3000 : 90), m = side(i % 10 == 1 ? 3000 : 90);
        CAPTURE(n, k, m, i);
        const auto a = stored(n, k, random), b = stored(k, m, random);
        const auto none = at::zeros({n, m}), before = at::randn({n, m + 7}).narrow(1, 3, m);
        const double allowed = 0x1p-24 * static_cast<double>(k + 2);
        CHECK(worst(product(a, b), none, a, b) < allowed);
        auto out = at::full({n, m}, std::numeric_limits<float>::quiet_NaN());
        product_into(out, a, b);
        CHECK(worst(out, none, a, b) < allowed);
        CHECK(at::equal(out, product(a, b)));
        const auto offsets = at::randn({m});
        CHECK(worst(product(a, b, offsets), offsets.expand({n, m}), a, b) < allowed);
        auto sum = before.clone(), part = at::cat({before, before}, 1).narrow(1, m, m);
        CHECK(worst(product_onto(sum, a, b), before, a, b) < allowed);
        CHECK(worst(product_onto(part, a, b), before, a, b) < allowed);
    }
}

TEST_CASE("products of nothing, of other types, and of views that are no matrix") {
    CHECK(product(at::ones({0, 3}), at::ones({3, 2})).sizes() == at::IntArrayRef({0, 2}));
    CHECK(at::equal(product(at::ones({4, 0}), at::ones({0, 2})), at::zeros({4, 2})));
    const auto wide = at::randn({5, 6}, at::kDouble), other = at::randn({6, 2}, at::kDouble);
    CHECK(at::equal(product(wide, other), at::mm(wide, other)));
    const auto apart = at::randn({6, 8, 2}).select(2, 0);  // neither rows nor columns lie together
    CHECK(at::allclose(product(at::ones({1, 6}), apart), apart.sum(0, true)));
    const auto one = at::ones({1}).expand({6, 3});
    CHECK(at::equal(product(at::ones({2, 6}), one), at::full({2, 3}, 6)));
    CHECK_THROWS(product(at::ones({2, 3}), at::ones({4, 2})));
}

TEST_CASE("autograd goes through products that it records") {
    auto a = at::randn({3, 4}).requires_grad_(), b = at::randn({4, 2}).requires_grad_();
    torch::autograd::backward({product(a, b).sum()}, {});
    CHECK(at::allclose(a.grad(), b.detach().sum(1).expand({3, 4})));
    auto offsets = at::zeros({2}).requires_grad_();
    torch::autograd::backward({product(a.detach(), b.detach(), offsets).sum()}, {});
    CHECK(at::equal(offsets.grad(), at::full({2}, 3)));
    auto c = at::randn({3, 4}).requires_grad_();
    auto sum = at::zeros({3, 2}) + 0 * c.sum();
    torch::autograd::backward({product_onto(sum, c, b.detach()).sum()}, {});
    CHECK(at::allclose(c.grad(), b.detach().sum(1).expand({3, 4})));
}
