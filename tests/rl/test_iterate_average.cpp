#include "run/train/training.hpp"

#include <ATen/ATen.h>

#include <cmath>

#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using rldp::rl::average_config;
using rldp::rl::iterate_average;

namespace {

at::Tensor iterate(std::int64_t step) {
    return at::full({3}, std::sqrt(static_cast<double>(step)), at::kFloat);
}

double mean_after(iterate_average& average, std::int64_t steps) {
    for (std::int64_t step = 1; step <= steps; ++step) average.add(step, iterate(step));
    const auto out = average.of(iterate(steps));
    CHECK(out.scalar_type() == at::kFloat);
    return out[1].item<double>();
}

}  // namespace

TEST_CASE("averages are those of the definition") {
    iterate_average none({});
    CHECK(mean_after(none, 30) == Approx(std::sqrt(30)));

    iterate_average tail({averaging::tail, 0.2, 30});
    double sum = 0;
    for (int step = 25; step <= 30; ++step) sum += std::sqrt(step) / 6;
    CHECK(mean_after(tail, 24) == Approx(std::sqrt(24)));  // not begun: the last one
    iterate_average again({averaging::tail, 0.2, 30});
    CHECK(mean_after(again, 30) == Approx(sum));

    iterate_average ema({averaging::ema, 0.2, 30});
    const double keep = 1 - 1.0 / 6;
    double weighted = 0, weights = 0;
    for (int step = 1; step <= 30; ++step) {
        weighted += std::pow(keep, 30 - step) * std::sqrt(step);
        weights += std::pow(keep, 30 - step);
    }
    CHECK(mean_after(ema, 30) == Approx(weighted / weights));
}

TEST_CASE("an average goes on where it was") {
    for (const auto how : {averaging::ema, averaging::tail}) {
        iterate_average whole({how, 0.5, 20}), begun({how, 0.5, 20}), resumed({how, 0.5, 20});
        for (std::int64_t step = 1; step <= 13; ++step) begun.add(step, iterate(step));
        resumed.restore(begun.mean(), begun.weight());
        for (std::int64_t step = 14; step <= 20; ++step) resumed.add(step, iterate(step));
        for (std::int64_t step = 1; step <= 20; ++step) whole.add(step, iterate(step));
        CHECK(at::equal(whole.mean(), resumed.mean()));
    }
}
