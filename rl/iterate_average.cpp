#include "rl/iterate_average.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "config/base/require.hpp"

namespace rldp::rl {

iterate_average::iterate_average(const average_config& config) : config_(config) {
    if (config.how == averaging::none) return;
    require(config.window > 0 && config.window <= 1, "an average is over a share of the steps");
    require(config.steps >= 1, "an average is over steps");
}

void iterate_average::add(std::int64_t step, const at::Tensor& adapter) {
    if (config_.how == averaging::none) return;
    const double reach = std::max(1.0, std::round(config_.window * static_cast<double>(config_.steps)));
    if (config_.how == averaging::tail) {
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
