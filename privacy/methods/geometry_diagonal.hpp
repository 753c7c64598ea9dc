#pragma once
// M = diag(1/b): every coordinate is measured in a unit of its own.
#include "privacy/mechanism/geometry.hpp"

namespace rldp::privacy {

class diagonal_geometry final : public geometry {
  public:
    /// `centre` a and `scales` b, float64 [D] on the CPU, not to be changed afterwards. Errors: failed unless all of a
    /// is finite and all of b finite and positive.
    diagonal_geometry(at::Tensor centre, at::Tensor scales);

    const at::Tensor& centre() const override { return centre_; }
    at::Tensor norms(const at::Tensor& centred) const override;
    at::Tensor colour(const at::Tensor& white) const override { return white * scales_; }
    at::Tensor deviations() const override { return scales_; }
    const at::Tensor& scales() const { return scales_; }
    double condition() const override { return 1; }

  private:
    at::Tensor centre_, scales_;
};

}  // namespace rldp::privacy
