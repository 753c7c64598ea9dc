#include <ATen/core/grad_mode.h>

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include <cmath>
#include <numbers>

#include "rl/networks.hpp"
#include "tests/catch.hpp"

using namespace rldp::rl;

namespace {

at::Generator seeded(std::uint64_t seed) {
    return at::detail::createCPUGenerator(seed);
}

}  // namespace

TEST_CASE("the Gaussian's log-density has its known value") {
    // log N(0; 0, 1) + log N(1; 0.5, 2) = -0.918938533 - (0.918938533 + log 2 + 0.03125)
    const gaussian policy{at::tensor({0.f, 0.5f}).unsqueeze(0), at::tensor({0.f, std::log(2.f)}).unsqueeze(0)};
    const auto density = policy.log_density(at::tensor({0.f, 1.f}).unsqueeze(0));
    CHECK(density.item<double>() == Approx(-2 * 0.9189385332 - std::numbers::ln2 - 0.03125));
}

TEST_CASE("Polyak averaging moves the target by tau") {
    const auto target = polyak(at::tensor({1.f, -2.f}), at::tensor({2.f, 2.f}), 0.25);
    CHECK(target[0].item<float>() == 1.25f);
    CHECK(target[1].item<float>() == -1.f);
}

TEST_CASE("the nets are those of torch::nn with the same numbers") {
    const std::int64_t state = 5, action = 3, hidden = 8, rows = 4;
    const networks nets(state, action, hidden);
    const auto flat = nets.initial_critics(seeded(1));
    const auto states = at::randn({rows, state}, seeded(2)), actions = at::randn({rows, action}, seeded(3));

    torch::nn::Sequential encoder(torch::nn::Linear(state, hidden),
                                  torch::nn::LayerNorm(torch::nn::LayerNormOptions({hidden})), torch::nn::GELU(),
                                  torch::nn::Linear(hidden, hidden),
                                  torch::nn::LayerNorm(torch::nn::LayerNormOptions({hidden})), torch::nn::GELU());
    torch::nn::Sequential first(torch::nn::Linear(hidden + action, hidden), torch::nn::ReLU(),
                                torch::nn::Linear(hidden, 1));
    torch::nn::Sequential second(torch::nn::Linear(hidden + action, hidden), torch::nn::ReLU(),
                                 torch::nn::Linear(hidden, 1));
    {
        const at::NoGradGuard no_gradient;
        std::int64_t offset = 0;
        for (const auto& net : {encoder, first, second})
            for (auto& parameter : net->parameters()) {
                parameter.copy_(flat.narrow(0, offset, parameter.numel()).view(parameter.sizes()));
                offset += parameter.numel();
            }
        REQUIRE(offset == flat.numel());
    }
    const auto features = nets.features(nets.encoder_part(flat), states);
    CHECK(at::allclose(features, encoder->forward(states), 1e-5, 1e-6));
    const auto values = nets.values(nets.twin_part(flat), features, actions);
    const auto input = at::cat({features, actions}, 1);
    CHECK(at::allclose(values[0], first->forward(input).squeeze(1), 1e-5, 1e-6));
    CHECK(at::allclose(values[1], second->forward(input).squeeze(1), 1e-5, 1e-6));
    CHECK_FALSE(at::allclose(values[0], values[1]));
}

TEST_CASE("the policy starts near the median and with modest exploration") {
    const networks nets(20, 5, 128);
    const auto states = at::randn({100, 20}, seeded(1));
    const auto features = nets.features(nets.encoder_part(nets.initial_critics(seeded(2))), states);
    const auto policy = nets.policy(nets.initial_heads(seeded(3)), features);
    CHECK(policy.mean.abs().max().item<double>() < 0.05);
    CHECK((policy.log_sigma + 1).abs().max().item<double>() < 0.05);
}

TEST_CASE("log sigma is clamped to [-20, 2]") {
    const networks nets(2, 1, 4);
    auto heads = at::zeros({4 + 1 + 4 + 1});
    for (const auto& [bias, expected] : {std::pair{100.f, 2.f}, std::pair{-100.f, -20.f}, std::pair{1.f, 1.f}}) {
        heads[9] = bias;
        CHECK(nets.policy(heads, at::zeros({1, 4})).log_sigma.item<float>() == expected);
    }
}

TEST_CASE("samples follow the policy") {
    const auto n = 20000;
    const gaussian policy{at::full({n, 1}, 0.7), at::full({n, 1}, std::log(0.3))};
    const auto sample = policy.sample(seeded(4));
    // four standard errors
    CHECK(sample.mean().item<double>() == Approx(0.7).margin(4 * 0.3 / std::sqrt(n)));
    CHECK(sample.std().item<double>() == Approx(0.3).margin(4 * 0.3 / std::sqrt(2.0 * n)));
}
