#pragma once
// Private statistics of a population whose true quantiles are known: how close trackers and state come to the truth.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "privacy/keys/random.hpp"
#include "privacy/mechanism/statistics.hpp"
#include "tests/support/charges.hpp"

namespace rldp::bench {

/// Log-normal norms, another median per group; losses about 2 nats.
struct population {
    std::size_t groups;
    double spread = 0.5;
    double median(std::size_t i) const {
        return 0.3 * std::exp(0.7 * static_cast<double>(i) / static_cast<double>(groups));
    }
    double quantile(std::size_t i, std::size_t k) const {
        return median(i) * std::exp(spread * (static_cast<double>(k) - 1) * 0.6744897501960817);
    }
};

struct simulation {
    double worst_log_error;  ///< of a quartile, over trackers, mean over the last half of the steps
    double mean_log_error;   ///< the same, averaged over trackers
    privacy::observation seen;
};

/// Poisson batches of mean B under statistics noise z_φ, for `steps` steps.
inline simulation simulate(const population& from, double batch, double multiplier, int steps, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::poisson_distribution<std::int64_t> size(batch);
    std::normal_distribution<double> normal;
    const std::size_t n = from.groups;
    privacy::statistics_tracker tracker(n, batch, 0.1, 4);
    const auto key = privacy::run_key::insecure_from_seed(static_cast<std::int64_t>(seed));
    double worst_sum = 0, mean_sum = 0;
    for (int step = 1; step <= steps; ++step) {
        const auto b = size(random);
        auto norms = at::empty({b, static_cast<std::int64_t>(n)}, at::kDouble);
        auto losses = at::empty({b}, at::kDouble);
        for (std::int64_t unit = 0; unit < b; ++unit) {
            losses.data_ptr<double>()[unit] = 2 + 0.2 * normal(random);
            for (std::size_t i = 0; i < n; ++i) {
                norms.data_ptr<double>()[unit * static_cast<std::int64_t>(n) + static_cast<std::int64_t>(i)] =
                    from.median(i) * std::exp(from.spread * normal(random));
            }
        }
        auto out = testing::blank_release(static_cast<std::uint64_t>(step));
        auto [phi, sensitivity] = privacy::statistics_sum(norms, losses, tracker.frame());
        out.statistics = std::move(phi);
        std::vector<double> noise(out.statistics.size());
        privacy::random_stream(key, privacy::purpose::noise, out.charged->seq, n).normals(noise);
        const double s = multiplier * sensitivity;
        for (std::size_t j = 0; j < noise.size(); ++j) out.statistics[j] += s * noise[j];
        tracker.add(out);
        if (step == steps / 2) tracker.observe(0);
        if (step <= steps / 2) continue;
        double worst = 0, sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t k = 0; k < 3; ++k) {
                const double error = std::abs(std::log(tracker.frame().trackers[i][k] / from.quantile(i, k)));
                worst = std::max(worst, error);
                sum += error;
            }
        }
        worst_sum += worst;
        mean_sum += sum / static_cast<double>(3 * n);
    }
    const double counted = steps - steps / 2;
    return {worst_sum / counted, mean_sum / counted, tracker.observe(1.25)};
}

}  // namespace rldp::bench
