#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "models/adamw.hpp"
#include "models/thread_count.hpp"
#include "privacy/mechanism/clipping.hpp"
#include "privacy/mechanism/noise.hpp"
#include "rl/research/bilinear.hpp"
#include "run/train/steering.hpp"
#include "run/train/training.hpp"

namespace rldp::rl {
namespace {

constexpr double scaling = 2;  // of B·A, as lora.alpha over lora.rank by default
constexpr std::int64_t held_out_units = 64;
constexpr double least_divergence = 1e-12;  // nats, whose logarithm is finite

// Of one layer, views of θ.
struct factors {
    at::Tensor a, b;
};
factors slice_factors(const at::Tensor& theta, std::size_t layer, std::int64_t width, std::int64_t rank) {
    const std::int64_t each = rank * width, begin = 2 * each * static_cast<std::int64_t>(layer);
    return {theta.narrow(0, begin, each).view({rank, width}), theta.narrow(0, begin + each, each).view({width, rank})};
}

at::Tensor through(const at::Tensor& h, const at::Tensor& matrix) {
    return (h + at::matmul(h, matrix.t()).tanh_()) * std::sqrt(0.5);
}

at::Tensor log_answers(const bilinear& of, const std::vector<at::Tensor>& matrices, const at::Tensor& inputs) {
    auto h = inputs;
    for (const auto& matrix : matrices) h = through(h, matrix);
    return at::log_softmax(at::matmul(h, of.head.t()), -1);
}

std::vector<at::Tensor> adapted(const bilinear& of, const at::Tensor& theta) {
    std::vector<at::Tensor> out;
    for (std::size_t l = 0; l < of.adapters(); ++l) {
        const auto [a, b] = slice_factors(theta, l, of.width, of.rank);
        out.push_back(of.weights[l] + at::mm(b, a) * scaling);
    }
    return out;
}

at::Tensor normals(at::IntArrayRef shape, splitmix& random) {
    auto out = at::empty(shape, at::kFloat);
    std::generate_n(out.data_ptr<float>(), out.numel(), [&] { return static_cast<float>(random.near_normal()); });
    return out;
}

// How many of very many units a step draws, each with a small chance: as many as fit where gaps are exponential.
std::int64_t poisson(double mean, splitmix& random) {
    std::int64_t out = 0;
    for (double at = -std::log(random.uniform()); at < mean; at -= std::log(random.uniform())) ++out;
    return out;
}

class bilinear_episode final : public episode {
  public:
    bilinear_episode(const bilinear& about, const schedule& fixed, std::uint64_t seed)
        : task_(about),
          rates_(make_rate_schedule(fixed, about.rate, about.steps)),
          random_(seed),
          segments_(about.segments()),
          optimizer_(about.start),
          average_({.how = averaging::tail, .window = fixed.tail, .steps = about.steps}),
          watch_(segments_, about.start),
          last_(neutral(about.adapters())) {
        splitmix others(seed, 1);
        held_out_ = task_.draw(held_out_units, others);
        play(last_);
    }

    bool finished() const override { return step_ >= task_.steps; }

    policy_observation look() const override {
        policy_observation out;
        const double numbers = static_cast<double>(task_.start.numel());
        out.global = {static_cast<double>(step_) / static_cast<double>(task_.steps),
                      std::log(task_.noise_multiplier * std::sqrt(numbers) / task_.batch),
                      std::log(task_.epochs),
                      0,
                      0,
                      last_.rate};
        for (std::size_t i = 0; i < task_.adapters(); ++i) {
            const auto& one = watch_.features()[i];
            out.adapters.push_back(
                {one.signal, one.cosine, one.along, std::log(one.update), last_.rates[i], last_.shares[i]});
        }
        return out;
    }

    void play(const policy_action& chosen) override {
        require(!finished(), "bilinear: the episode is over");
        check_action(chosen, task_.adapters());
        const models::one_thread same_bits_everywhere;
        last_ = chosen;
        deviations_ = privacy::noise_standard_deviations(allocation::shares, task_.noise_multiplier, task_.radii,
                                                         privacy::sizes_of_groups(segments_), compute_shares(last_));
        std::vector<at::Tensor> factors;
        for (const auto& part : segments_)
            factors.push_back(at::full({part.size}, std::exp(last_.rates[part.group]), at::kFloat));
        optimizer_.set_rate_factors(at::cat(factors));
        for (std::int64_t i = 0; i < task_.interval; ++i) step();
        watch_.close(optimizer_.parameters());
    }

    double log_excess() const override {
        const models::one_thread same_bits_everywhere;
        return std::log(std::max(task_.excess(average_.of(optimizer_.parameters()), held_out_), least_divergence));
    }

  private:
    void step() {
        ++step_;
        privacy::step_terms terms;
        terms.radii = task_.radii;
        privacy::clipped_sum sum(segments_, terms);
        if (const auto units = poisson(task_.batch, random_); units > 0)
            sum.add(task_.gradients(optimizer_.parameters(), task_.draw(units, random_)));
        auto released = sum.take();
        std::vector<at::Tensor> radii, noise;
        for (const auto& part : segments_) {
            noise.push_back(normals({part.size}, random_) * deviations_[part.group]);
            radii.push_back(at::full({part.size}, task_.batch * task_.radii[part.group], at::kDouble));
        }
        released += at::cat(noise);
        watch_.add(released, deviations_);
        const auto estimate = (released / at::cat(radii)).to(at::kFloat);
        optimizer_.step(estimate, rates_.rate(step_) * std::exp(last_.rate));
        average_.add(step_, optimizer_.parameters());
    }

    const bilinear& task_;
    rate_schedule rates_;
    splitmix random_;
    records held_out_;
    std::vector<privacy::segment> segments_;
    models::adamw optimizer_;
    iterate_average average_;
    block_watch watch_;
    std::vector<double> deviations_;
    std::int64_t step_ = 0;
    policy_action last_;
};

}  // namespace

std::vector<privacy::segment> bilinear::segments() const {
    return privacy::make_segments(std::vector<std::int64_t>(adapters(), 2 * rank * width));
}

records bilinear::draw(std::int64_t units, splitmix& random) const {
    records out = {normals({units, words, width}, random) * spread, at::empty({units, words}, at::kLong)};
    const auto sums = log_answers(*this, teachers, out.inputs).exp_().cumsum(-1).contiguous();
    const auto count = head.size(0);
    const float* each = sums.data_ptr<float>();
    for (std::int64_t i = 0; i < units * words; ++i, each += count) {
        const auto found = std::upper_bound(each, each + count - 1, static_cast<float>(random.uniform()));
        out.classes.data_ptr<std::int64_t>()[i] = found - each;
    }
    return out;
}

privacy::unit_gradients bilinear::gradients(const at::Tensor& theta, const records& of) const {
    const at::NoGradGuard no_grad;
    const auto units = of.inputs.size(0);
    const auto matrices = adapted(*this, theta);
    std::vector<at::Tensor> before = {of.inputs};  // each layer's h
    for (const auto& matrix : matrices) before.push_back(through(before.back(), matrix));
    const auto answers = at::log_softmax(at::matmul(before.back(), head.t()), -1);
    const auto classes = of.classes.unsqueeze(-1);
    const auto losses = answers.gather(-1, classes).neg().mean({1, 2});
    auto of_logits = answers.exp() / static_cast<double>(words);
    of_logits.scatter_add_(-1, classes, at::full(classes.sizes(), -1.0 / static_cast<double>(words), at::kFloat));
    auto of_h = at::matmul(of_logits, head);
    std::vector<at::Tensor> rows(2 * adapters());
    for (auto l = adapters(); l-- > 0;) {
        const auto [a, b] = slice_factors(theta, l, width, rank);
        const auto& h = before[l];
        const auto halved = of_h * std::sqrt(0.5);
        const auto of_tanh = halved * (1 - (before[l + 1] * std::sqrt(2.0) - h).square_());  // tanh is √2·h' − h
        const auto of_inner = at::matmul(of_tanh, b) * scaling;                              // [units, words, r]
        rows[2 * l] = at::bmm(of_inner.transpose(1, 2), h).reshape({units, -1});
        rows[2 * l + 1] = (at::bmm(of_tanh.transpose(1, 2), at::matmul(h, a.t())) * scaling).reshape({units, -1});
        of_h = halved + at::matmul(of_tanh, matrices[l]);
    }
    return {at::cat(rows, 1), losses.to(at::kDouble)};
}

double bilinear::excess(const at::Tensor& theta, const records& of) const {
    const at::NoGradGuard no_grad;
    const auto wanted = log_answers(*this, teachers, of.inputs).to(at::kDouble);
    const auto found = log_answers(*this, adapted(*this, theta), of.inputs).to(at::kDouble);
    return (wanted.exp() * (wanted - found)).sum(-1).mean().item<double>();
}

std::unique_ptr<episode> bilinear::begin(const schedule& fixed, std::uint64_t seed) const {
    require(adapters() > 0 && teachers.size() == adapters() && radii.size() == adapters(),
            "bilinear: weights, a teacher and a radius per adapter");
    require(start.numel() == 2 * rank * width * static_cast<std::int64_t>(adapters()), "bilinear: two factors a layer");
    require(interval >= 1 && steps > interval && steps % interval == 0,
            "bilinear: the steps are blocks, more than one");
    require_positive(batch, "bilinear: the batch");
    require_positive(rate, "bilinear: the rate");
    return std::make_unique<bilinear_episode>(*this, fixed, seed);
}

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
    draw_plan(out, random);
    out.width = random.integer(12, 24);
    out.rank = random.integer(2, 4);
    out.words = random.integer(8, 24);
    const auto width = static_cast<double>(out.width);
    out.head = normal_matrix(random.integer(4, 16), out.width, 2 / std::sqrt(width), random);
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
