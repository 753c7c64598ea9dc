#include "rl/iterate_average.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "config/base/error.hpp"
#include "config/base/require.hpp"

namespace rldp::rl {

average_config::form average_from(const std::string& name) {
    using form = average_config::form;
    if (name == "none") return form::none;
    if (name == "ema") return form::ema;
    if (name == "tail") return form::tail;
    refuse("average '" + name + "' is unknown; use none, ema or tail");
}

iterate_average::iterate_average(const average_config& config) : config_(config) {
    if (config.how == average_config::form::none) return;
    require(config.window > 0 && config.window <= 1, "an average is over a share of the steps");
    require(config.steps >= 1, "an average is over steps");
}

void iterate_average::add(std::int64_t step, const at::Tensor& adapter) {
    using form = average_config::form;
    if (config_.how == form::none) return;
    const double reach = std::max(1.0, std::round(config_.window * static_cast<double>(config_.steps)));
    if (config_.how == form::tail) {
        if (static_cast<double>(config_.steps - step) >= reach) return;
        weight_ += 1;
    } else {
        weight_ = weight_ * (1 - 1 / reach) + 1;
    }
    const auto here = adapter.to(at::kDouble);
    mean_ = mean_.defined() ? mean_ + (here - mean_) / weight_ : here;
}

at::Tensor iterate_average::of(const at::Tensor& last) const {
    return mean_.defined() ? mean_.to(last.options()) : last;
}

void iterate_average::restore(const at::Tensor& mean, double weight) {
    mean_ = mean;
    weight_ = weight;
}

}  // namespace rldp::rl
