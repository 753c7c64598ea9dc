#pragma once
// The geometries that methods clip in: diagonal, and spiked by directions that are tracked from releases.
#include <ATen/core/Tensor.h>

#include <cmath>
#include <vector>

#include "privacy/mechanism/step_order.hpp"

namespace rldp::privacy {

// Diagonal. M = diag(1/b): every coordinate is measured in a unit of its own.

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

// Spiked. GeoClip's M (Gilani et al. 2025, arXiv 2506.06549, Theorem 2, γ = 1) for a covariance Σ that is block
// diagonal, one block per adapter, each with k variances of its own directions and one variance for all others: O(D·k)
// memory and O(b·D·k) work.
//
// Of all M with Tr(MᵀMΣ) ≤ 1 it is the one with the least noise Tr((MᵀM)⁻¹) = S², S = Tr Σ^½ = Σ_p Σ_i √λ_{p,i} + (d_p
// − k)·√λ⊥_p:
//   MᵀM = Σ^(−½)/S,  (MᵀM)⁻¹ = S·Σ^½;  here M = Σ^(−¼)/√S is the symmetric one.
// S/√D is the radius of the DP-SGD whose noise has the same total variance.

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

// Covariance track. What a stream of releases tells of the covariance of the units' gradients within one adapter, where
// most of every release is noise whose covariance is known: pure functions. The streaming rank-k PCA of GeoClip (Gilani
// et al. 2025, Algorithm 2), with three differences, each needed once d/B is large (a LoRA adapter's is 5 and more):
// - What is tracked is the raw second moment, noise included, exact in its trace: what no direction keeps goes to the
//   tail, and the directions keep only what they have above the tail. Taking the noise out of the track itself makes
//   the newest release displace every direction found before it, and drives the tail to zero.
// - The noise's mean is known, but the largest direction in noise has more: E times as much, below. Only what is above
//   that becomes a direction's variance.
// - A tail below its own standard error is taken to be that. Nothing being known, Σ comes out as a multiple of the
//   identity.

/// Float64, CPU. Entry k of `energies` and `noise` is what every direction outside U has.
struct covariance_track {
    at::Tensor directions;  ///< U [d, k], orthonormal, largest energy first
    at::Tensor energies;    ///< [k + 1], moving average of B·(u·y)²
    at::Tensor noise;       ///< [k + 1], the part of the noise in it; zeros before the first release
};

/// β3, the paper's: a release counts for 1 − β3.
constexpr double track_memory = 0.99;

/// Before any release: Σ = `variance`·I, the first k axes standing in for directions.
covariance_track fresh_track(std::int64_t coordinates, std::int64_t rank, double variance);

/// After a released mean that lies `deviation` [d] off the centre and whose noise has the variances `noise` [k + 1]
/// along the track's directions and outside them.
covariance_track updated(const covariance_track& track, const at::Tensor& deviation, const at::Tensor& noise,
                         double expected_batch);

/// The estimate of Σ that the track amounts to, its tail at least `least`.
spiked_block estimate_covariance(const covariance_track& track, double least);

/// E: the largest eigenvalue, for d/(1/(1−β3)) = `ratio` and d → ∞, of the exponentially weighted second moment of
/// white noise of variance 1. At ratio 3.75, 6.6.
double noise_edge(double ratio);

}  // namespace rldp::privacy
