#pragma once
// Clipping and noise in another metric than the Euclidean: a public centre a and a public invertible linear map M. Unit
// gradients are clipped to f·(g − a), f = min(1, C/‖M(g − a)‖), and the noise is M⁻¹N(0, (z·C)²I). M maps that to
// isotropic noise on sums in which a unit moves at most C, so the multiplier is z whatever M is, if a and M depend on
// earlier releases only.
#include <ATen/core/Tensor.h>

namespace rldp::privacy {

/// Immutable, and of two kinds only: the public side makes it, and on the trusted side it sees unit gradients.
/// All tensors are float64; D coordinates.
class geometry {
  public:
    virtual ~geometry() = default;
    /// a, [D] on the CPU.
    virtual const at::Tensor& centre() const = 0;
    /// ‖M c‖ for each row c of `centred` [b, D], on the device of `centred`: [b].
    virtual at::Tensor norms(const at::Tensor& centred) const = 0;
    /// M⁻¹ξ, [D] on the CPU.
    virtual at::Tensor colour(const at::Tensor& white) const = 0;
    /// Standard deviation of each coordinate of M⁻¹ξ for ξ ~ N(0, I): [D] on the CPU, positive.
    virtual at::Tensor deviations() const = 0;
    /// How much longer M makes one vector than another of those whose length it changes together: at least 1.
    virtual double condition() const = 0;

  private:
    geometry() = default;
    friend class diagonal_geometry;
    friend class spiked_geometry;
};

}  // namespace rldp::privacy
