#include "rl/rate_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rldp::rl {

namespace {

/// How much of the way from the peak to the last rate lies behind a schedule that has done `done` of `all` steps.
double compute_share(std::int64_t done, std::int64_t all) {
    return std::clamp(static_cast<double>(done) / static_cast<double>(all), 0.0, 1.0);
}

}  // namespace

double rate_schedule::rate(std::int64_t step) const {
    if (step <= warmup) return peak * compute_share(step, warmup);
    const auto before = step - 1;
    switch (shape) {
        case rate_shape::constant:
            return peak;
        case rate_shape::linear:
            return peak + (last - peak) * compute_share(before - warmup, steps - warmup);
        case rate_shape::cosine: {
            const double way = compute_share(before - warmup, steps - warmup);
            return last + (peak - last) * (1 + std::cos(std::numbers::pi * way)) / 2;
        }
        case rate_shape::wsd:
            return peak + (last - peak) * compute_share(before - (steps - decay), decay);
    }
    return peak;
}

}  // namespace rldp::rl
