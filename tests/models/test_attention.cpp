// Attention, forward and backward, against its definition in double precision.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "bench/tensor_memory.hpp"
#include "models/functions.hpp"
#include "models/kernels/narrow_attention.hpp"
#include "models/torch_compat.hpp"
#include "tests/models/random_models.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

struct inputs {
    at::Tensor q, k, v, weight;  // [b, T, H, d], [b, T, K, d] twice; the loss is the sum of weight * result
    attention_rule rule;

    inputs(random_source& random, std::int64_t length, std::int64_t d) {
        const std::int64_t b = random.between(1, 3), kv_heads = random.between(1, 3),
                           heads = kv_heads * random.between(1, 3);
        q = 2 * at::randn({b, length, heads, d});
        k = 2 * at::randn({b, length, kv_heads, d});
        v = at::randn({b, length, kv_heads, d});
        weight = at::randn({b * length, heads * d});
        rule.scale = 1 / std::sqrt(static_cast<double>(d));
        if (random.between(0, 1)) rule.window = random.between(1, length + 5);
        if (random.between(0, 2) == 0) rule.scale *= 0.6;
    }
};

at::Tensor by_definition(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const attention_rule& rule) {
    const auto spread = [&](const at::Tensor& t) {
        return t.repeat_interleave(q.size(2) / k.size(2), 2).transpose(1, 2);  // [b, H, T, d]
    };
    auto scores = at::matmul(q.transpose(1, 2), spread(k).transpose(2, 3)) * rule.scale;
    if (rule.cap) scores = *rule.cap * at::tanh(scores / *rule.cap);
    const auto weights = at::softmax(scores + causal_mask(q.size(1), rule.window, q.options()), -1);
    return at::matmul(weights, spread(v)).transpose(1, 2).reshape({q.size(0) * q.size(1), -1});
}

struct result {
    at::Tensor out;
    std::vector<at::Tensor> gradients;
};

template <typename F>
result run(const inputs& in, at::ScalarType type, const F& attention) {
    std::vector<at::Tensor> leaves;
    for (const auto& t : {in.q, in.k, in.v}) leaves.push_back(t.to(type).detach().requires_grad_());
    const auto out = attention(leaves[0], leaves[1], leaves[2]);
    return {out.detach(), torch::autograd::grad({(out * in.weight.to(type)).sum()}, leaves)};
}

void compare(const inputs& in, double tolerance = 1e-5) {
    const auto expected =
        run(in, at::kDouble, [&](auto& q, auto& k, auto& v) { return by_definition(q, k, v, in.rule); });
    const auto found = run(in, at::kFloat, [&](auto& q, auto& k, auto& v) {
        return attend(q, k, v, causal_mask(q.size(1), in.rule.window, q.options()), in.rule);
    });
    CHECK(largest_difference(found.out, expected.out.to(at::kFloat)) <= tolerance);
    const at::NoGradGuard no_grad;
    CHECK(at::equal(attend(in.q, in.k, in.v, causal_mask(in.q.size(1), in.rule.window, in.q.options()), in.rule),
                    found.out));
    for (std::size_t i = 0; i < 3; ++i) {
        const double size = 1 + expected.gradients[i].abs().max().template item<double>();
        CHECK(largest_difference(found.gradients[i], expected.gradients[i].to(at::kFloat)) <= tolerance * size);
    }
}

}  // namespace

TEST_CASE("attention and its gradients are those of the definition", "[attention]") {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        random_source random(seed);
        const std::int64_t d = random.one_of<std::int64_t>({8, 8, 16, 24, 32, 6, 40, 64});
        const inputs in(random, random.one_of<std::int64_t>({1, 2, 4, 15, 16, 17, 33, 100, 127, 128, 129, 175, 260}),
                        d);
        INFO("seed " << seed << ": " << in.q.sizes() << ", window " << in.rule.window.value_or(0));
        CHECK(is_narrow(in.q) == (d % 8 == 0 && d <= 32));
        compare(in);
    }
}

TEST_CASE("attention with capped scores and its gradients are those of the definition", "[attention]") {
    for (unsigned seed = 1; seed <= 30; ++seed) {
        random_source random(seed);
        inputs in(random, random.one_of<std::int64_t>({1, 2, 17, 33, 128, 129, 260}),
                  random.one_of<std::int64_t>({8, 16, 6, 40, 64}));
        in.rule.cap = random.one_of<double>({0.5, 2, 50});
        INFO("seed " << seed << ": " << in.q.sizes() << ", cap " << *in.rule.cap);
        compare(in);
    }
}

TEST_CASE("attention that nothing is asked back of holds the weights of one block of queries at a time",
          "[attention]") {
    random_source random(5);
    inputs in(random, 1024, 40);
    in.rule = {.scale = 0.1, .cap = 50};  // no other attention than the program's own has a cap
    const auto mask = causal_mask(1024, in.rule.window, in.q.options());
    const auto peak = [&](bool asked) {
        const auto q = in.q.clone().requires_grad_(asked);
        bench::tensor_memory memory;
        memory.begin();
        const auto out = attend(q, in.k, in.v, mask, in.rule);
        return memory.peak_mebibytes();
    };
    const double mebibyte = 1 << 20, pairs = static_cast<double>(in.q.size(0) * in.q.size(2)) * 4,
                 block = 1024 * 128 * pairs / mebibyte, copies = 1024 * 40 * pairs / mebibyte;
    CHECK(peak(false) < 6 * copies + 2.5 * block);
    CHECK(peak(true) > 8 * block);
}

TEST_CASE("scores of any size give weights and gradients", "[attention]") {
    random_source random(3);
    inputs in(random, 40, 8);
    in.q.mul_(30);
    compare(in, 5e-4);  // float32 holds such scores to 3e-5
}

TEST_CASE("in narrow heads a row is the same whatever is beside and behind it", "[attention]") {
    random_source random(7);
    const inputs in(random, 61, 8);
    const auto narrow = [&](auto& q, auto& k, auto& v) {
        return attend_narrow(q, k, v, in.rule.window, in.rule.scale).reshape({q.size(0) * q.size(1), -1});
    };
    const std::int64_t length = 37;
    inputs part = in;
    for (at::Tensor* t : {&part.q, &part.k, &part.v}) *t = t->narrow(0, 0, 1).narrow(1, 0, length);
    part.weight = in.weight.narrow(0, 0, length);
    const auto alone = run(part, at::kFloat, narrow);
    CHECK(at::equal(alone.out, run(in, at::kFloat, narrow).out.narrow(0, 0, length)));

    // What no row of the loss sees has no gradient, and changes none.
    inputs padded = in;
    padded.weight = in.weight.clone();
    padded.weight.view({in.q.size(0), in.q.size(1), -1}).narrow(1, length, in.q.size(1) - length).zero_();
    const auto with = run(padded, at::kFloat, narrow), without = run(part, at::kFloat, narrow);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(at::equal(with.gradients[i].narrow(0, 0, 1).narrow(1, 0, length), without.gradients[i]));
        CHECK(with.gradients[i].narrow(1, length, in.q.size(1) - length).abs().max().item<double>() == 0);
    }
}

TEST_CASE("in narrow heads no number is lost", "[attention]") {
    random_source random(9);
    inputs in(random, 20, 16);
    in.rule.window = std::nullopt;
    in.k[0][3][0][2] = std::numeric_limits<float>::quiet_NaN();
    const auto out = attend_narrow(in.q, in.k, in.v, in.rule.window, in.rule.scale);
    CHECK(out[0].narrow(0, 0, 3).isfinite().all().item<bool>());
    CHECK(out[0].narrow(0, 3, 17).select(1, 0).isnan().all().item<bool>());
}

}  // namespace rldp::models::test

TEST_CASE("attention by groups is that with keys and values repeated, and so are its gradients", "[attention]") {
    at::manual_seed(4);
    const auto plain = [](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
        return at::softmax(q.matmul(k.transpose(2, 3)), -1).matmul(v);
    };
    for (const std::int64_t group : {2, 3}) {
        std::vector<at::Tensor> given{at::randn({2, 2 * group, 5, 4}), at::randn({2, 2, 5, 4}),
                                      at::randn({2, 2, 5, 4})};
        const auto direction = at::randn(given[0].sizes());
        const auto out = [&](bool by_group) {
            std::vector<at::Tensor> leaves;
            for (const auto& t : given) leaves.push_back(t.detach().clone().requires_grad_());
            const auto& [q, k, v] = std::tie(leaves[0], leaves[1], leaves[2]);
            const auto y = by_group ? rldp::models::compat::attend_by_group(q, k, v, plain)
                                    : plain(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1));
            torch::autograd::backward({y}, {direction});
            return std::vector<at::Tensor>{y, q.grad(), k.grad(), v.grad()};
        };
        const auto grouped = out(true), repeated = out(false);
        for (std::size_t i = 0; i < grouped.size(); ++i) CHECK(at::allclose(grouped[i], repeated[i], 1e-5, 1e-6));
    }
}
