#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "models/optimizers/optimizer.hpp"
#include "tests/models/support.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

using pair = std::array<double, 2>;

at::Tensor row(const pair& of) {
    return at::tensor({of[0], of[1]}).to(at::kFloat);
}

struct told_step {
    pair gradient;
    double rate;
};

/// Where it goes from `start` under those gradients, whose noise has these deviations.
std::vector<pair> follow(optimizer_kind kind, const pair& start, const std::vector<told_step>& steps,
                         const pair& deviations = {0.1, 0.2}) {
    const auto one = make_optimizer(kind, row(start));
    std::vector<pair> out;
    for (const auto& step : steps) {
        one->step({.values = row(step.gradient), .deviations = row(deviations)}, step.rate);
        const auto now = one->parameters();
        out.push_back({now[0].item<double>(), now[1].item<double>()});
    }
    return out;
}

void check_close(const std::vector<pair>& found, const std::vector<pair>& expected, double unit = 1) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t step = 0; step < found.size(); ++step)
        for (std::size_t i = 0; i < 2; ++i) {
            INFO("step " << step + 1 << ", number " << i);
            CHECK(found[step][i] == Approx(expected[step][i] * unit).epsilon(2e-5).margin(1e-15));
        }
}

const std::vector<told_step> turning = {{{0.5, -0.25}, 0.5}, {{0.4, 0.1}, 1}, {{-0.2, 0.3}, 0.8}},
                             steady = {{{0.5, -0.25}, 0.5}, {{0.4, -0.3}, 1}, {{0.6, -0.2}, 0.8}, {{0.5, -0.3}, 1}};

double distance_of(const optimizer& prodigy) {
    return nlohmann::json::parse(prodigy.snapshot().numbers).at("distance");
}

/// ½Σ a_i (x_i − x*_i)².
struct quadratic {
    at::Tensor curvatures = at::linspace(0.5, 2, 20), optimum = at::linspace(-1, 1.5, 20);
    at::Tensor gradient(const at::Tensor& x) const { return curvatures * (x - optimum); }
    double loss(const at::Tensor& x) const { return (curvatures * (x - optimum).square()).sum().item<double>() / 2; }
};

}  // namespace

TEST_CASE("DoG's first steps are those worked out by hand", "[optimizers]") {
    // From (3, 4) its reach begins at 0.01·(1 + 5); Σ‖g‖² is 0.3125, 0.4825, 0.6125, and no move is longer than 0.06.
    check_close(follow(optimizer_kind::dog, {3, 4}, turning),
                {{2.97316718, 4.01341641}, {2.93861603, 4.00477862}, {2.95120337, 3.98589761}});
}

TEST_CASE("Prodigy's first steps are those worked out by hand, with and without the noise taken out", "[optimizers]") {
    const auto follow_steady = [](const pair& deviations) {
        return follow(optimizer_kind::prodigy, {0, 0}, steady, deviations);
    };
    // In units of d_0, without noise: d is 1, 1.02976, 2.87408 and 8.37518 of them.
    constexpr double unit = 1e-4;
    const std::vector<pair> without = {
        {-1.58113783, 1.58113683}, {-5.78026696, 5.83333056}, {-9.83059183, 9.83885377}, {-24.2538053, 23.6606388}};
    check_close(follow_steady({0, 0}), without, unit);
    // Little noise: N is 0.025 of ‖s‖₁ at the second step, and with it out d is 1.03008.
    auto little = without;
    little[2] = {-9.83180272, 9.84020218};
    little[3] = {-24.2603561, 23.6670166};
    check_close(follow_steady({0.01, 0.02}), little, unit);
    // More: from the second step on the floor, three deviations of r over d, is the larger. d is 1.04350, 1.50605.
    auto more = without;
    more[2] = {-9.88260343, 9.89687118};
    more[3] = {-18.0480594, 17.9179974};
    check_close(follow_steady({0.1, 0.2}), more, unit);
}

TEST_CASE("Mechanic's first steps are those worked out by hand", "[optimizers]") {
    // Its gamblers bet nothing first, then s_init; h is 0, −0.15, 0.551325 and −0.636424.
    auto steps = turning;
    steps.push_back({{0.3, -0.1}, 0.6});
    check_close(follow(optimizer_kind::mechanic, {0, 0}, steps),
                {{0, 0}, {-4.46437702, 2.53681726}, {-5.56153624, 1.76161097}, {-10.1975385, 2.43563325}}, 1e-3);
    // Twenty steps on it has come up to 1.48645, and its decay counts: without it would be at −24.4146.
    std::vector<told_step> many;
    for (int round = 0; round < 5; ++round) many.insert(many.end(), steady.begin(), steady.end());
    CHECK(follow(optimizer_kind::mechanic, {0, 0}, many).back()[0] == Approx(-24.3275778).epsilon(1e-4));
}

TEST_CASE("hypergradient's first steps are those worked out by hand", "[optimizers]") {
    // Scores 0, 1.34164 and −2.49863: the rate is multiplied by 1, e^0.026833 and e^−0.023140.
    auto steps = turning;
    for (auto& step : steps) step.rate *= 0.1;
    check_close(follow(optimizer_kind::hypergradient, {0, 0}, steps),
                {{-0.05, 0.05}, {-0.151499890, 0.0855004926}, {-0.193589551, 0.0622640513}});
}

TEST_CASE("each reaches a quadratic's optimum, however far off its first rate is", "[optimizers]") {
    // That of DoG, Prodigy and Mechanic is a constant of theirs, 0.01, 1e-4 and 0.003: the optimum is about 4 away.
    struct attempt {
        optimizer_kind kind;
        double rate;
    };
    constexpr std::int64_t steps = 400;
    const quadratic bowl;
    const auto zeros = at::zeros({20});
    const auto end_with = [&](const attempt& how) {
        const auto one = make_optimizer(how.kind, zeros);
        for (std::int64_t t = 0; t < steps; ++t) {
            const double left = 1 - static_cast<double>(t) / steps;
            one->step({.values = bowl.gradient(one->parameters()), .deviations = zeros}, how.rate * left);
        }
        return bowl.loss(one->parameters()) / bowl.loss(zeros);
    };
    for (const attempt& how :
         {attempt{optimizer_kind::dog, 1}, attempt{optimizer_kind::prodigy, 1}, attempt{optimizer_kind::mechanic, 1},
          attempt{optimizer_kind::hypergradient, 1e-5}, attempt{optimizer_kind::hypergradient, 5}}) {
        CAPTURE(name_of(how.kind), how.rate);
        CHECK(end_with(how) < 1e-3);
    }
    CHECK(end_with({optimizer_kind::adamw, 1e-5}) > 0.9);
}

TEST_CASE("under noise alone Prodigy's distance stays about where it began", "[optimizers]") {
    constexpr std::int64_t numbers = 500;
    const auto deviations = at::cat({at::full({200}, 0.02), at::full({300}, 0.5)});
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
        at::manual_seed(seed);
        const auto one = make_optimizer(optimizer_kind::prodigy, at::zeros({numbers}));
        for (int t = 0; t < 200; ++t)
            one->step({.values = at::randn({numbers}) * deviations, .deviations = deviations}, 1);
        CAPTURE(seed);
        CHECK(distance_of(*one) >= 1e-4);
        CHECK(distance_of(*one) < 2e-4);
    }
    // A signal that the noise hides number by number, but not all together, is another matter.
    const auto one = make_optimizer(optimizer_kind::prodigy, at::zeros({numbers}));
    for (int t = 0; t < 200; ++t)
        one->step({.values = (at::randn({numbers}) + 0.3) * deviations, .deviations = deviations}, 1);
    CHECK(distance_of(*one) > 1e-2);
}

TEST_CASE("an optimizer that is restored goes on bit for bit, and leaves what was handed out as it was",
          "[optimizers]") {
    for (const auto& [kind, name] : names<optimizer_kind>::rows) {
        CAPTURE(name);
        at::manual_seed(4);
        const auto deviations = at::full({50'000}, 0.5);  // a sum that several threads would share
        double signal = 0.2;
        const auto draw = [&] {
            return noisy_gradient{.values = at::randn({50'000}) + signal, .deviations = deviations};
        };
        const auto one = make_optimizer(kind, at::randn({50'000}));
        for (int t = 0; t < 5; ++t) one->step(draw(), 0.5);
        const auto kept = one->snapshot();
        auto copy = kept;
        copy.parameters = kept.parameters.clone();
        for (auto& [label, tensor] : copy.tensors) tensor = tensor.clone();

        const auto other = make_optimizer(kind, at::zeros({50'000}));
        other->restore(copy);
        signal = -2;  // back where it came from
        for (int t = 0; t < 5; ++t) {
            const auto seen = draw();
            one->step(seen, 0.3);
            other->step(seen, 0.3);
        }
        CHECK(at::equal(one->parameters(), other->parameters()));
        CHECK(one->snapshot().numbers == other->snapshot().numbers);
        CHECK_FALSE(at::equal(one->parameters(), kept.parameters));
        CHECK(at::equal(kept.parameters, copy.parameters));
        for (const auto& [label, tensor] : kept.tensors) CHECK(at::equal(tensor, copy.tensors.at(label)));

        auto smaller = copy;
        smaller.parameters = at::zeros({3});
        CHECK_THROWS_AS(other->restore(smaller), error);
        CHECK_THROWS_AS(other->restore({.parameters = copy.parameters}), error);
        auto without = copy;
        without.numbers = "{}";
        CHECK_THROWS_AS(other->restore(without), error);
    }
}

}  // namespace rldp::models::test
