#include "privacy/mechanism/release_trace.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"

namespace rldp::privacy {

at::Tensor compute_number_deviations(const sanitizer_config& how, const charge& charged, const step_terms& terms) {
    const auto of_groups = compute_noise_deviations(how, charged, terms);
    if (terms.shape) return terms.shape->deviations() * of_groups.front();
    std::vector<at::Tensor> parts;
    for (const auto& part : how.segments) parts.push_back(at::full({part.size}, of_groups[part.group], at::kDouble));
    return at::cat(parts);
}

release_trace::release_trace(sanitizer_config how)
    : how_(std::move(how)), sum_(at::zeros({count_coordinates(how_.segments)}, at::kDouble)) {}

void release_trace::add(const step_terms& terms, const release& value) {
    require(value.gradient.numel() == sum_.numel(), "a release of another size than the trace");
    sum_ = sum_ + value.gradient.to(at::kDouble) /
                      compute_number_deviations(how_, value.charged, terms);  // snapshots hold the old one
}

void release_trace::restore(const at::Tensor& sum) {
    if (!sum.defined() || sum.numel() != sum_.numel())
        refuse(
            fmt::format("checkpoint: it lacks the audit's sum of {} numbers; bring back the run's own", sum_.numel()));
    sum_ = sum.to(at::kDouble);
}

}  // namespace rldp::privacy
