#include "rl/research/bilinear.hpp"

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <array>
#include <cmath>

#include "base/error.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/mechanism/sanitizer.hpp"
#include "rl/research/practice.hpp"
#include "tests/catch.hpp"
#include "tests/support/charges.hpp"

using namespace rldp;
using namespace rldp::rl;

namespace {

bilinear some_task(std::uint64_t number = 0) {
    auto out = draw_tasks(bilinear_families(), 1, 5, number + 1).back();
    out.steps = 16;
    return out;
}

// The mean loss of a unit, written anew in differentiable operations.
at::Tensor compute_loss(const bilinear& task, const at::Tensor& theta, const records& of, std::int64_t unit) {
    auto h = of.inputs[unit];
    const auto each = task.rank * task.width;
    for (std::size_t l = 0; l < task.adapters(); ++l) {
        const auto begin = 2 * each * static_cast<std::int64_t>(l);
        const auto a = theta.narrow(0, begin, each).view({task.rank, task.width});
        const auto b = theta.narrow(0, begin + each, each).view({task.width, task.rank});
        const auto z = at::matmul(h, task.weights[l].t()) + 2 * at::matmul(at::matmul(h, a.t()), b.t());
        h = (h + z.tanh()) / std::sqrt(2.0);
    }
    const auto answers = at::log_softmax(at::matmul(h, task.head.t()), -1);
    return -answers.gather(-1, of.classes[unit].unsqueeze(-1)).mean();
}

}  // namespace

TEST_CASE("a unit's gradient is what automatic differentiation says") {
    for (const std::uint64_t number : {0U, 1U, 6U}) {
        const auto task = some_task(number);
        splitmix random(3);
        const auto drawn = task.draw(4, random);
        const auto theta = task.start + at::randn(task.start.sizes()) * 0.1;
        const auto found = task.gradients(theta, drawn);
        REQUIRE(found.gradients.sizes() == at::IntArrayRef({4, task.start.numel()}));
        for (std::int64_t unit = 0; unit < 4; ++unit) {
            const auto leaf = theta.clone().requires_grad_();
            const auto loss = compute_loss(task, leaf, drawn, unit);
            const auto gradient = torch::autograd::grad({loss}, {leaf})[0];
            CHECK(at::allclose(found.gradients[unit], gradient, 1e-4, 1e-6));
            CHECK(found.losses[unit].item<double>() == Approx(loss.item<double>()).epsilon(1e-5));
        }
    }
}

TEST_CASE("what an episode releases has the moments of the real sanitizer's release") {
    const auto task = some_task(6);
    splitmix random(3);
    const auto drawn = task.draw(16, random);
    const auto units = task.gradients(task.start, drawn);
    privacy::step_order order{testing::charged_at(1, task.noise_multiplier), {}};
    order.terms.radii = task.radii;
    const privacy::sanitizer_config how = {.segments = task.segments(), .how = allocation::shares};
    privacy::sanitizer real(how, privacy::run_key::insecure_from_seed(5));
    real.begin(order);
    real.add(units);
    const auto released = real.finish().gradient.to(at::kDouble);
    privacy::clipped_sum sum(task.segments(), order.terms);
    sum.add(units);
    const auto clipped = sum.take();
    const auto deviations = privacy::compute_noise_deviations(how, order.charged, order.terms);
    // An episode adds this noise to that sum: the release less the sum, in its deviations, is standard normal.
    const auto expected = privacy::noise_standard_deviations(allocation::shares, task.noise_multiplier, task.radii,
                                                             privacy::sizes_of_groups(task.segments()),
                                                             compute_shares(neutral(task.adapters())));
    std::int64_t begin = 0;
    double squares = 0, mean = 0;
    for (const auto& part : task.segments()) {
        CHECK(deviations[part.group] == Approx(expected[part.group]));
        const auto noise = (released - clipped).narrow(0, begin, part.size) / expected[part.group];
        squares += noise.square().sum().item<double>();
        mean += noise.sum().item<double>();
        begin += part.size;
    }
    const auto count = static_cast<double>(begin);
    CHECK(mean / count == Approx(0).margin(4.5 / std::sqrt(count)));
    CHECK(squares / count == Approx(1).margin(4.5 * std::sqrt(2 / count)));
}

TEST_CASE("an answer like the teacher's has no excess, and more of the way leaves less") {
    auto task = some_task(1);
    splitmix random(4);
    const auto drawn = task.draw(64, random);
    const double before = task.excess(task.start, drawn);
    CHECK(before > 0);
    auto learnt = task;
    learnt.weights = task.teachers;
    CHECK(learnt.excess(at::zeros_like(task.start), drawn) == Approx(0).margin(1e-6));
    // Classes come from the teacher: the loss exceeds its own by the divergence, on average over units.
    learnt.weights = task.weights;
    const auto many = task.draw(4000, random);
    auto of_teacher = task;
    of_teacher.weights = task.teachers;
    const auto zeros = at::zeros_like(task.start);
    const auto gap = task.gradients(task.start, many).losses - of_teacher.gradients(zeros, many).losses;
    const double error = gap.std().item<double>() / std::sqrt(4000.0);
    CHECK(gap.mean().item<double>() == Approx(task.excess(task.start, many)).margin(4 * error));
}

TEST_CASE("an episode learns at its rate, and a rate a hundred times as high ruins it") {
    auto task = some_task(0);
    task.steps = 64;
    task.noise_multiplier = 0.3;
    task.rate = 0.02;
    splitmix random(1);
    const double before = std::log(task.excess(task.start, task.draw(64, random)));
    const double after = final_loss(task, {{.tilt = -1}}, 7);
    CHECK(after < before - 0.3);
    task.rate = 2;
    CHECK(final_loss(task, {{.tilt = -1}}, 7) > after + 1);
}

TEST_CASE("the same seed gives the same bits of family B, on any number of threads") {
    const auto drawn = draw_tasks(bilinear_families(), 4, 9, 4);
    const auto again = draw_tasks(bilinear_families(), 4, 9, 4);
    for (std::size_t i = 0; i < drawn.size(); ++i) CHECK(at::equal(drawn[i].start, again[i].start));
    const auto one = final_losses(list_tasks(drawn), {schedule{}}, {.seed = 2, .jobs = 1});
    CHECK(final_losses(list_tasks(again), {{}}, {.seed = 2, .jobs = 3}) == one);
    CHECK(final_losses(list_tasks(drawn), {{}}, {.seed = 3}) != one);
}

TEST_CASE("an episode of family B shows what it was set to, and takes no move beyond its limits") {
    const auto task = some_task(1);
    const auto run = task.begin({}, 1);
    const auto first = run->look();
    CHECK(first.adapters.size() == task.adapters());
    CHECK(first.global[of_run::time] == Approx(0.25));
    CHECK(first.adapters[0][of_adapter::along] == 0);
    auto chosen = neutral(task.adapters());
    chosen.rate = 0.5;
    chosen.rates[1] = -0.25;
    chosen.shares[0] = 1;
    run->play(chosen);
    const auto second = run->look();
    CHECK(second.global[of_run::rate] == 0.5);
    CHECK(second.adapters[1][of_adapter::rate] == -0.25);
    CHECK(second.adapters[0][of_adapter::share] == 1);
    CHECK(second.adapters[0][of_adapter::along] != 0);
    chosen.rate = 2 * rate_limit;
    CHECK_THROWS_AS(run->play(chosen), error);
    CHECK_THROWS_AS(run->play(neutral(task.adapters() + 1)), error);
    while (!run->finished()) run->play(neutral(task.adapters()));
    CHECK_THROWS_AS(run->play(neutral(task.adapters())), error);
}
