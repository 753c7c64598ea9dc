#pragma once
// What an audit keeps of a run's releases: their sum, each in units of its own noise. Post-processing of releases.
#include <ATen/core/Tensor.h>

#include "privacy/mechanism/sanitizer.hpp"

namespace rldp::privacy {

/// Standard deviation of the noise in each number of a step's release, float64 [D]; in several bands of the independent
/// noise behind it. Errors: as compute_noise_deviations().
at::Tensor compute_number_deviations(const sanitizer_config& how, const charge& charged, const step_terms& terms);

/// Under noise alone every coordinate is a normal, of the variance that prefix sums of its noise have: what a white-box
/// audit scores canaries by (Steinke, Nasr, Jagielski 2023, §6).
class release_trace {
  public:
    explicit release_trace(sanitizer_config how);

    /// `terms` of the release's step. Errors: failed for a release of another length.
    void add(const step_terms& terms, const release& value);
    const at::Tensor& sum() const { return sum_; }  ///< float64 [D], CPU
    void restore(const at::Tensor& sum);

  private:
    sanitizer_config how_;
    at::Tensor sum_;
};

}  // namespace rldp::privacy
