#pragma once
// GeoClip's M (Gilani et al. 2025, arXiv 2506.06549, Theorem 2, γ = 1) for a covariance Σ that is block diagonal, one
// block per adapter, each with k variances of its own directions and one variance for all others: O(D·k) memory and
// O(b·D·k) work.
//
// Of all M with Tr(MᵀMΣ) ≤ 1 it is the one with the least noise Tr((MᵀM)⁻¹) = S², S = Tr Σ^½ = Σ_p Σ_i √λ_{p,i} + (d_p
// − k)·√λ⊥_p:
//   MᵀM = Σ^(−½)/S,  (MᵀM)⁻¹ = S·Σ^½;  here M = Σ^(−¼)/√S is the symmetric one.
// S/√D is the radius of the DP-SGD whose noise has the same total variance.
#include <cmath>
#include <vector>

#include "privacy/mechanism/geometry.hpp"

namespace rldp::privacy {

/// One adapter's covariance U diag(λ) Uᵀ + λ⊥(I − UUᵀ), d coordinates. Float64, CPU.
struct spiked_block {
    at::Tensor directions;  ///< U [d, k], orthonormal columns, k < d; k may be 0
    at::Tensor variances;   ///< λ [k], each in [λ⊥, most_spread·λ⊥]
    double tail = 0;        ///< λ⊥, positive
};

/// The norm's sum cancels by up to √(λ/λ⊥): with no more than this it keeps 12 digits, and the clip's margin is 1e-9.
constexpr double most_spread = 1e8;

/// S.
double root_trace(const std::vector<spiked_block>& blocks);

class spiked_geometry final : public geometry {
  public:
    /// `centre` float64 [Σ d] on the CPU; nothing given is to be changed afterwards. Errors: failed for a block that is
    /// not as described, or a value that is not finite.
    spiked_geometry(at::Tensor centre, std::vector<spiked_block> blocks);

    const at::Tensor& centre() const override { return centre_; }
    at::Tensor norms(const at::Tensor& centred) const override;
    at::Tensor colour(const at::Tensor& white) const override;
    at::Tensor deviations() const override;
    double condition() const override { return std::pow(most_spread, 0.25); }

    const std::vector<spiked_block>& blocks() const { return blocks_; }
    double root_trace() const { return root_trace_; }

  private:
    at::Tensor centre_;
    std::vector<spiked_block> blocks_;
    double root_trace_;  ///< S
};

}  // namespace rldp::privacy
