#include "privacy/mechanism/step_sum.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "config/base/require.hpp"

namespace rldp::privacy {

step_sum::step_sum(const std::vector<segment>& segments, const step_terms& terms)
    : coordinates_(count_coordinates(segments)),
      measured_(terms.measured),
      clipped_(segments, terms, (terms.measured ? static_cast<std::int64_t>(terms.measured->entries()) : 0) + 1) {
    if (!measured_) return;
    measurement_.assign(measured_->entries(), 0);
    std::vector<double> nobody(measured_->entries());
    measured_->add(at::zeros({0, std::ssize(sizes_of_groups(segments))}, at::kDouble),
                   at::zeros({0, 1 + std::ssize(terms.probes)}, at::kDouble), nobody);
}

double step_sum::measurement_grid() const {
    return measured_->sensitivity() / per_unit;
}

clipped_sum::seen step_sum::add(const unit_gradients& batch) {
    auto seen = clipped_.add(batch);
    if (!measured_) return seen;
    std::vector<double> phi(measurement_.size());
    measured_->add(seen.norms, seen.losses, phi);
    // Towards zero: where a unit is alone in its micro-batch, its vector gets no longer.
    for (std::size_t j = 0; j < phi.size(); ++j)
        measurement_[j] += static_cast<std::int64_t>(std::trunc(phi[j] / measurement_grid()));
    return seen;
}

at::Tensor step_sum::numbers() {
    auto out = clipped_.numbers();  // with room for the others
    std::copy(measurement_.begin(), measurement_.end(), out.data_ptr<std::int64_t>() + coordinates_);
    out[-1] = clipped_.units();
    return out;
}

step_sum::whole step_sum::of(const at::Tensor& numbers) const {
    require(numbers.numel() == coordinates_ + std::ssize(measurement_) + 1, "sanitizer: a sum of another length");
    whole out{numbers.narrow(0, 0, coordinates_), numbers[-1].item<std::int64_t>(), {}};
    for (std::size_t j = 0; j < measurement_.size(); ++j)
        out.measured.push_back(
            static_cast<double>(numbers.data_ptr<std::int64_t>()[static_cast<std::size_t>(coordinates_) + j]) *
            measurement_grid());
    return out;
}

}  // namespace rldp::privacy
