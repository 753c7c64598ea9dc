#include "rl/prepare/bilinear_families.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "privacy/mechanism/clipping.hpp"

namespace rldp::rl {
namespace {

constexpr double usual_rate = 0.01;  // cold starts want about that, warm ones less

at::Tensor normal_matrix(std::int64_t rows, std::int64_t columns, double deviation, splitmix& random) {
    auto out = at::empty({rows, columns}, at::kFloat);
    std::generate_n(out.data_ptr<float>(), out.numel(),
                    [&] { return static_cast<float>(deviation * random.normal()); });
    return out;
}

at::Tensor uniform_matrix(std::int64_t rows, std::int64_t columns, double bound, splitmix& random) {
    auto out = at::empty({rows, columns}, at::kFloat);
    std::generate_n(out.data_ptr<float>(), out.numel(),
                    [&] { return static_cast<float>(random.uniform(-bound, bound)); });
    return out;
}

// What units' norms have for a median at the start, per adapter; B is zero in a cold one, and so are A's gradients.
std::vector<double> median_norms(const bilinear& of, splitmix& random) {
    constexpr std::int64_t units = 64;
    const auto seen = of.gradients(of.start, of.draw(units, random));
    const auto medians = std::get<0>(privacy::group_norms(seen.gradients, of.segments()).norms.median(0)).contiguous();
    return {medians.data_ptr<double>(), medians.data_ptr<double>() + medians.numel()};
}

bilinear drawn_bilinear(const bilinear_family& from, double offset, splitmix& random) {
    bilinear out;
    const auto plan = draw_plan(random);
    out.interval = plan.interval;
    out.steps = plan.steps;
    out.batch = plan.batch;
    out.epochs = plan.epochs;
    out.noise_multiplier = plan.noise_multiplier;
    out.width = random.whole(12, 24);
    out.rank = random.whole(2, 4);
    out.words = random.whole(8, 24);
    const auto width = static_cast<double>(out.width);
    out.head = normal_matrix(random.whole(4, 16), out.width, 2 / std::sqrt(width), random);
    const double decline = random.uniform(from.decline.low, from.decline.high);
    const auto places = at::arange(1, out.width + 1, at::kFloat).pow(-decline);
    out.spread = places / places.square().mean().sqrt();
    const double way = random.uniform(from.way.low, from.way.high), change = random.log_uniform(0.5, 2);
    std::vector<at::Tensor> parts;
    const auto adapters = draw_integer(from.adapters, random);
    for (std::int64_t l = 0; l < adapters; ++l) {
        out.weights.push_back(normal_matrix(out.width, out.width, 1 / std::sqrt(width), random));
        const auto left = normal_matrix(out.width, out.rank, change / std::sqrt(width), random);
        const auto right = normal_matrix(out.rank, out.width, 1, random);
        out.teachers.push_back(out.weights.back() + at::mm(left, right) / std::sqrt(out.rank));
        const auto first = uniform_matrix(out.rank, out.width, 1 / std::sqrt(width), random);
        // B·A is the part of the teacher's change that was learnt, halved for the 2 that it is scaled by; what A has
        // besides goes nowhere yet.
        parts.push_back((right * way + first).flatten());
        parts.push_back((left * (way > 0 ? 0.5 / std::sqrt(out.rank) : 0)).flatten());
    }
    out.start = at::cat(parts);
    out.radii = median_norms(out, random);
    const double radius = random.log_uniform(0.1, 1);
    for (double& each : out.radii) each = std::max(each * radius, 1e-6);
    out.rate = usual_rate * random.log_uniform(1 / offset, offset);
    return out;
}

}  // namespace

std::vector<bilinear_family> bilinear_families() {
    return corners<bilinear_family>({trait{"flat", {0, 0.3}}, {"steep", {0.5, 1}}},
                                    {trait{"cold", {0, 0}}, {"warm", {0.2, 0.5}}});
}

std::vector<bilinear> draw_tasks(std::span<const bilinear_family> from, double offset, std::uint64_t seed,
                                 std::size_t count) {
    return drawn_in_turn(from, offset, seed, count, drawn_bilinear);
}

}  // namespace rldp::rl
