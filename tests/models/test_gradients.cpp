// Per-record gradients against autograd alone, one record at a time, on random models.
#include <ATen/core/grad_mode.h>

#include "tests/models/random_models.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

constexpr unsigned models_tried = 200;

struct setting {
    model_config config;
    std::shared_ptr<const causal_lm> model;
    lora_layout layout;
    at::Tensor flat;
    std::vector<std::vector<std::int32_t>> sequences;

    explicit setting(unsigned seed, std::int64_t longest = 12) {
        random_source random(seed);
        config = random_config(random);
        model = causal_lm::from_weights(config, random_weights(config));
        layout = make_layout(config, random_lora(random, config));
        flat = 0.3 * at::randn({layout.dimension});
        sequences = random_sequences(random, config.vocab, longest);
    }
};

struct reference {
    at::Tensor gradient;
    double loss;
};

// No padding, no custom backward for the adapter, no chunks. At (1 + `off`) times the adapter.
reference by_autograd(const setting& s, const std::vector<std::int32_t>& sequence, double off = 0) {
    const auto batch = make_batch({sequence});
    auto flat = (s.flat * (1 + off)).requires_grad_();
    const auto logits = s.model->logits(batch.ids, &s.layout, &flat)[0];
    const auto count = logits.size(0) - 1;
    const auto loss = at::cross_entropy_loss(logits.narrow(0, 0, count), batch.ids[0].narrow(0, 1, count));
    loss.backward();
    return {flat.grad(), loss.item<double>()};
}

void compare(const setting& s) {
    const auto result = s.model->gradients(make_batch(s.sequences), s.layout, s.flat);
    for (std::size_t i = 0; i < s.sequences.size(); ++i) {
        const auto expected = by_autograd(s, s.sequences[i]);
        const auto row = static_cast<std::int64_t>(i);
        CHECK(result.losses[row].item<double>() == Approx(expected.loss).epsilon(1e-4));
        const double error = (result.gradients[row] - expected.gradient).norm().item<double>();
        // The absolute part is rounding where summands cancel. A few of the random models magnify rounding; by how
        // much, a change of the adapter in its last bits tells.
        const double magnified =
            (by_autograd(s, s.sequences[i], 1e-6).gradient - expected.gradient).norm().item<double>();
        CHECK(error <= 2e-4 * expected.gradient.norm().item<double>() + 5e-6 + 3 * magnified);
    }
}

}  // namespace

TEST_CASE("per-record gradients are those of autograd, one record at a time", "[gradients]") {
    for (unsigned seed = 1; seed <= models_tried; ++seed) {
        const setting s(seed);
        INFO("seed " << seed << ", " << s.config.model_type);
        compare(s);
    }
}

TEST_CASE("long sequences are attended to in several blocks", "[gradients]") {
    for (unsigned seed : {101u, 103u, 104u, 107u}) {
        const setting s(seed, 290);
        INFO("seed " << seed << ", " << s.config.model_type);
        compare(s);
    }
}

TEST_CASE("the summed gradient is the sum of the records'", "[gradients]") {
    for (unsigned seed = 1; seed <= 5; ++seed) {
        const setting s(seed);
        const auto batch = make_batch(s.sequences);
        const auto each = s.model->gradients(batch, s.layout, s.flat);
        const auto sum = s.model->summed_gradient(batch, s.layout, s.flat);
        CHECK(sum.gradients.sizes() == at::IntArrayRef({1, s.layout.dimension}));
        const auto expected = each.gradients.sum(0);
        CHECK((sum.gradients[0] - expected).norm().item<double>() <= 1e-4 * expected.norm().item<double>() + 1e-6);
    }
}

TEST_CASE("dropout acts on the adapter's input alone", "[gradients]") {
    // A mask that is the same at every position equals an adapter whose A has its columns scaled.
    for (unsigned seed = 1; seed <= 10; ++seed) {
        const setting s(seed);
        std::vector<at::Tensor> columns;
        auto scaled = s.flat.clone();
        for (std::size_t i = 0; i < s.layout.pairs.size(); ++i) {
            columns.push_back(at::bernoulli(at::full({s.layout.pairs[i].d_in}, 0.6)) / 0.6);
            s.layout.a(scaled, i).mul_(columns.back());
        }
        const dropout_source dropout = [&](std::size_t pair, at::IntArrayRef shape) {
            return columns[pair].expand(shape).contiguous();
        };
        const auto batch = make_batch(s.sequences);
        const auto dropped = s.model->gradients(batch, s.layout, s.flat, dropout);
        const auto expected = s.model->gradients(batch, s.layout, scaled);
        CHECK(largest_difference(dropped.losses, expected.losses) <= 1e-4);
        for (std::size_t i = 0; i < s.layout.pairs.size(); ++i)
            for (std::int64_t row = 0; row < batch.ids.size(0); ++row) {
                const auto &ours = dropped.gradients[row], &theirs = expected.gradients[row];
                const double norm = theirs.norm().item<double>() + 1e-2;
                const auto a = s.layout.a(theirs, i) * columns[i];
                CHECK(largest_difference(s.layout.a(ours, i), a) <= 2e-4 * norm);
                CHECK(largest_difference(s.layout.b(ours, i), s.layout.b(theirs, i)) <= 2e-4 * norm);
            }
    }
}

TEST_CASE("a record that predicts nothing has neither loss nor gradient", "[gradients]") {
    const setting s(3);
    const auto result = s.model->gradients(make_batch({{1, 2, 3}, {4}}), s.layout, s.flat);
    CHECK(result.losses[1].item<double>() == 0);
    CHECK(result.gradients[1].abs().max().item<double>() == 0);
    CHECK(result.gradients[0].abs().max().item<double>() > 0);
    const auto alone = s.model->gradients(make_batch({{4}}), s.layout, s.flat);
    CHECK(alone.gradients.abs().max().item<double>() == 0);
}

TEST_CASE("padded positions hold no NaN, however short the window", "[gradients]") {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        const setting s(seed);
        const auto batch = make_batch({{1, 2}, std::vector<std::int32_t>(20, 3)});
        CHECK(s.model->logits(batch.ids, &s.layout, &s.flat).isfinite().all().item<bool>());
    }
}

TEST_CASE("a base is trained through training_loss", "[gradients]") {
    random_source random(5);
    auto config = random_config(random);
    for (const std::string family : {"gpt2", "llama"}) {
        config.model_type = family;
        config.heads = config.kv_heads = 2;
        config.head_dim = 4;
        config.width = 8;
        config.activation = family == "gpt2" ? "gelu_new" : "silu";
        auto weights = random_weights(config);
        for (auto& [name, weight] : weights) weight = weight.detach().requires_grad_();
        const auto model = causal_lm::from_weights(config, weights);
        const auto batch = make_batch({{1, 2, 3, 4}, {2, 2, 1}});
        const auto loss = model->training_loss(batch);
        loss.backward();
        const auto each = model->losses(batch, nullptr, nullptr);
        CHECK(loss.item<double>() == Approx((each.nll.sum() / each.tokens.sum()).item<double>()).epsilon(1e-5));
        for (auto& [name, weight] : weights) {
            INFO(name);
            REQUIRE(weight.grad().defined());
            // The directional derivative along the gradient, by central differences.
            const auto direction = weight.grad() / (weight.grad().norm() + 1e-12);
            const double step = 1e-2, expected = weight.grad().norm().item<double>();
            const at::NoGradGuard no_grad;
            weight.add_(direction, step);
            const double above = model->training_loss(batch).item<double>();
            weight.sub_(direction, 2 * step);
            const double below = model->training_loss(batch).item<double>();
            weight.add_(direction, step);
            CHECK((above - below) / (2 * step) == Approx(expected).epsilon(0.05).margin(2e-3));
        }
    }
}

TEST_CASE("bad batches are refused", "[gradients]") {
    const setting s(2);
    const auto says = [&](const token_batch& batch, const std::string& what) {
        CHECK(has(refusal([&] { s.model->losses(batch, nullptr, nullptr); }), what));
    };
    says(make_batch({std::vector<std::int32_t>(301, 1)}), "window of 300");
    says(make_batch({{1, static_cast<std::int32_t>(s.config.vocab)}}), "vocabulary");
    says(make_batch({{1, -1}}), "vocabulary");
}

}  // namespace rldp::models::test
