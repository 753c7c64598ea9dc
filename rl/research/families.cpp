#include "rl/research/families.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"

namespace rldp::rl {
namespace {

double mean_log_excess(const quadratics& of, const rate_line& line) {
    double out = 0;
    for (const std::uint64_t seed : {1, 2}) {
        const auto run = of.begin(line, seed);
        while (!run->finished()) run->play(neutral(of.sizes.size()));
        out += run->log_excess() / 2;
    }
    return out;
}

// Golden section over the log of the rate under linear decay, between paths too short and noise too large to arrive.
double tuned_rate(quadratics of, double distance) {
    const double golden = (std::sqrt(5) - 1) / 2;
    const auto loss_at = [&](double log_rate) {
        of.rate = std::exp(log_rate);
        return mean_log_excess(of, {.tilt = -1});
    };
    const auto steps = static_cast<double>(of.steps);
    double low = std::log(0.1 * distance / steps), high = std::log(3 * distance / std::sqrt(steps));
    double left = high - golden * (high - low), right = low + golden * (high - low);
    double left_loss = loss_at(left), right_loss = loss_at(right);
    while (high - low > 0.1)
        if (left_loss < right_loss) {
            high = right;
            right = left;
            right_loss = left_loss;
            left = high - golden * (high - low);
            left_loss = loss_at(left);
        } else {
            low = left;
            left = right;
            left_loss = right_loss;
            right = low + golden * (high - low);
            right_loss = loss_at(right);
        }
    return std::exp((low + high) / 2);
}

double compute_sum(const std::vector<double>& values, std::size_t begin, std::size_t end) {
    return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(begin),
                           values.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
}

std::int64_t draw_integer(const range& from, splitmix& random) {
    return random.integer(std::llround(from.low), std::llround(from.high));
}

quadratics draw(const family& from, double offset, splitmix& random) {
    quadratics out;
    out.interval = steps_per_block;
    out.steps = steps_per_block * std::llround(random.log_uniform(10, 100));
    out.batch = random.log_uniform(16, 4096);
    out.epochs = random.log_uniform(0.05, 5);
    const double noise = random.uniform(-5, 2);
    std::vector<double> gradients;  // squares of the mean gradient's numbers
    const auto adapters = draw_integer(from.adapters, random);
    for (std::int64_t i = 0; i < adapters; ++i) {
        const auto size = static_cast<std::size_t>(draw_integer(from.size, random));
        out.sizes.push_back(size);
        const double decline = random.uniform(from.decline.low, from.decline.high);
        const double curvature = random.log_uniform(0.3, 3), distance = random.log_uniform(0.4, 2.5);
        const double spread = random.uniform(0, decline / 2);  // what is flat is far from its optimum
        for (std::size_t j = 1; j <= size; ++j) {
            const double h = curvature * std::pow(j, -decline);
            const double far = distance * std::pow(j, spread);
            const double theta = far * random.normal();
            out.curvatures.push_back(h);
            out.start.push_back(theta);
            gradients.push_back(h * theta * h * theta);
        }
        out.weight_norms.push_back(random.uniform(0, 2) * distance * std::sqrt(static_cast<double>(size)));
    }
    // E|g|² is the mean's square and σ²·Σh; their ratio is the coherence's square over what it leaves.
    const std::size_t numbers = gradients.size();
    const double coherence = random.log_uniform(from.coherence.low, from.coherence.high);
    out.unit_noise = compute_sum(gradients, 0, numbers) * (1 / (coherence * coherence) - 1) /
                     compute_sum(out.curvatures, 0, numbers);
    const double radius = random.log_uniform(0.5, 1.5);  // over a unit's norm
    std::size_t begin = 0;
    for (const std::size_t size : out.sizes) {
        const double squares = compute_sum(gradients, begin, begin + size) +
                               out.unit_noise * compute_sum(out.curvatures, begin, begin + size);
        out.radii.push_back(radius * std::sqrt(squares));
        begin += size;
    }
    out.noise_multiplier = std::exp(noise) * out.batch / std::sqrt(static_cast<double>(numbers));
    const double squared =
        std::transform_reduce(out.start.begin(), out.start.end(), 0.0, std::plus<>(), [](double x) { return x * x; });
    out.rate =
        tuned_rate(out, std::sqrt(squared / static_cast<double>(numbers))) * random.log_uniform(1 / offset, offset);
    return out;
}

}  // namespace

std::vector<family> families() {
    struct trait {
        const char* name;
        range values;
    };
    std::vector<family> out;
    for (const auto& number : {trait{"few", {2, 4}}, trait{"many", {6, 10}}})
        for (const auto& spectrum : {trait{"flat", {0, 0.6}}, trait{"steep", {0.8, 2}}})
            for (const auto& start : {trait{"cold", {0.15, 0.6}}, trait{"warm", {0.04, 0.15}}})
                out.push_back({std::string(number.name) + "-" + spectrum.name + "-" + start.name, number.values,
                               spectrum.values, start.values});
    return out;
}

std::vector<quadratics> draw_tasks(std::span<const family> from, double offset, std::uint64_t seed, std::size_t count) {
    require(!from.empty() && offset >= 1, "tasks come from a family, their rates off by a factor of at least 1");
    std::vector<quadratics> out;
    for (std::size_t i = 0; i < count; ++i) {
        splitmix random(seed, i);
        out.push_back(draw(from[i % from.size()], offset, random));
    }
    return out;
}

}  // namespace rldp::rl
