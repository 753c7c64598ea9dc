// What families do in bfloat16, and what caps do to gradients.
#include <torch/csrc/autograd/autograd.h>

#include "models/functions.hpp"
#include "models/head.hpp"
#include "tests/models/random_models.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

at::Tensor random_bfloat16(at::IntArrayRef shape) {
    return at::randn(shape).to(at::kBFloat16);
}

}  // namespace

TEST_CASE("norms in bfloat16 round before the weight, or after 1 + weight", "[bfloat16]") {
    at::manual_seed(2);
    const auto x = random_bfloat16({50, 24}), weight = 0.3 * random_bfloat16({24});
    const auto wide = x.to(at::kFloat);
    const auto normed = wide * (wide.square().mean({-1}, true) + 1e-6).rsqrt();
    CHECK(at::equal(rms_norm(x, weight, 1e-6), normed.to(at::kBFloat16) * weight));
    const auto from_one = rms_norm(x, weight, 1e-6, gain_rule::one_and_weight);
    CHECK(from_one.scalar_type() == at::kBFloat16);
    CHECK(at::equal(from_one, (normed * (1 + weight.to(at::kFloat))).to(at::kBFloat16)));
    CHECK(!at::equal(from_one, normed.to(at::kBFloat16) * (1 + weight)));
}

TEST_CASE("a norm's gradients are autograd's, with either gain", "[gradients]") {
    at::manual_seed(3);
    const auto x = at::randn({7, 6}).requires_grad_(), weight = at::randn({6}).requires_grad_(), g = at::randn({7, 6});
    for (const auto rule : {gain_rule::weight, gain_rule::one_and_weight}) {
        const auto gain = rule == gain_rule::weight ? weight : 1 + weight;
        const auto expected = x * (x.square().mean({-1}, true) + 1e-3).rsqrt() * gain;
        const auto found = rms_norm(x, weight, 1e-3, rule);
        CHECK(largest_difference(found.detach(), expected.detach()) <= 1e-6);
        const auto theirs = torch::autograd::grad({(expected * g).sum()}, {x, weight});
        const auto ours = torch::autograd::grad({(found * g).sum()}, {x, weight});
        for (std::size_t i = 0; i < 2; ++i) CHECK(largest_difference(ours[i], theirs[i]) <= 1e-5);
    }
}

TEST_CASE("Gemma's factor of the embedding is rounded to the embedding's type", "[bfloat16]") {
    random_source random(4);
    auto config = random_config(random, "gemma2");
    config.width = 48;  // √48 = 6.928, in bfloat16 6.9375
    auto weights = random_weights(config);
    for (auto& [name, tensor] : weights) tensor = tensor.to(at::kBFloat16);
    const auto ids = at::arange(config.vocab).unsqueeze(0);
    const auto first = causal_lm::from_weights(config, weights)->hidden_states(ids, nullptr, nullptr)[0];
    CHECK(at::equal(first[0], weights.at("model.embed_tokens.weight") * 6.9375));
}

TEST_CASE("the head's losses and gradients know the cap of its logits", "[gradients]") {
    at::manual_seed(5);
    const auto head = at::randn({31, 12}), targets = at::randint(31, {40}, at::kLong), weights = at::rand({40});
    for (const auto type : {at::kFloat, at::kBFloat16})
        for (const std::optional<double> cap : {std::optional<double>{}, std::optional{1.5}, std::optional{30.0}}) {
            CAPTURE(type, cap.value_or(0));
            const auto hidden = at::randn({40, 12}).to(type);
            const auto found = head_losses(hidden, weight_matrix(head.to(type)), cap, targets, weights);
            const auto leaf = hidden.to(at::kFloat).requires_grad_();
            const auto logits = at::mm(leaf, head.to(type).to(at::kFloat).t());
            const auto nll =
                at::cross_entropy_loss(cap ? *cap * at::tanh(logits / *cap) : logits, targets, {}, at::Reduction::None);
            const auto expected = torch::autograd::grad({(nll * weights).sum()}, {leaf})[0];
            const double tolerance = type == at::kFloat ? 1e-5 : 0.1;
            CHECK(largest_difference(found.nll, nll.detach()) <= tolerance);
            CHECK(largest_difference(found.d_hidden, expected) <= tolerance);
            CHECK((found.d_hidden.to(at::kFloat) - expected).norm().item<double>() <=
                  0.2 * tolerance * expected.norm().item<double>());
        }
}

TEST_CASE("in bfloat16 gradients of every family point where they do in float32", "[bfloat16]") {
    for (const auto& model_type : model_types())
        for (unsigned seed = 1; seed <= 4; ++seed) {
            random_source random(seed);
            auto config = random_config(random, model_type);
            config.width = config.heads * config.head_dim;  // wide enough that rounding averages out
            auto wide = random_weights(config), narrow = wide;
            for (auto& [name, tensor] : narrow) tensor = tensor.to(at::kBFloat16);
            for (auto& [name, tensor] : wide) tensor = narrow.at(name).to(at::kFloat);
            const auto layout = make_layout(config, {2, 2, 0, {"all-linear"}});
            const auto flat = 0.1 * at::randn({layout.dimension});
            const auto batch = make_batch(random_sequences(random, config.vocab, 10));
            const auto expected = causal_lm::from_weights(config, wide)->gradients(batch, layout, flat);
            const auto found = causal_lm::from_weights(config, narrow)->gradients(batch, layout, flat);
            INFO(model_type << ", seed " << seed);
            const auto cosine = (found.gradients * expected.gradients).sum().item<double>() /
                                (found.gradients.norm() * expected.gradients.norm()).item<double>();
            CHECK(cosine > 0.95);
            CHECK(largest_difference(found.losses, expected.losses) <= 0.3);
        }
}

}  // namespace rldp::models::test
