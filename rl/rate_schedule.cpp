#include "rl/rate_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "config/base/error.hpp"

namespace rldp::rl {

namespace {

/// How much of the way from the peak to the last rate lies behind a schedule that has done `done` of `all` steps.
double share_of(std::int64_t done, std::int64_t all) {
    return std::clamp(static_cast<double>(done) / static_cast<double>(all), 0.0, 1.0);
}

}  // namespace

double rate_schedule::rate(std::int64_t step) const {
    if (step <= warmup) return peak * share_of(step, warmup);
    const auto before = step - 1;
    switch (shape) {
        case form::constant:
            return peak;
        case form::linear:
            return peak + (last - peak) * share_of(before - warmup, steps - warmup);
        case form::cosine: {
            const double way = share_of(before - warmup, steps - warmup);
            return last + (peak - last) * (1 + std::cos(std::numbers::pi * way)) / 2;
        }
        case form::wsd:
            return peak + (last - peak) * share_of(before - (steps - decay), decay);
    }
    return peak;
}

rate_schedule::form schedule_from(const std::string& name) {
    using form = rate_schedule::form;
    if (name == "constant") return form::constant;
    if (name == "linear") return form::linear;
    if (name == "cosine") return form::cosine;
    if (name == "wsd") return form::wsd;
    refuse("schedule '" + name + "' is unknown; use constant, linear, cosine or wsd");
}

}  // namespace rldp::rl
