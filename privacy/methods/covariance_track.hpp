#pragma once
// What a stream of releases tells of the covariance of the units' gradients within one adapter, where most of every
// release is noise whose covariance is known: pure functions. The streaming rank-k PCA of GeoClip (Gilani et al. 2025,
// Algorithm 2), with three differences, each needed once d/B is large (a LoRA adapter's is 5 and more):
// - What is tracked is the raw second moment, noise included, exact in its trace: what no direction keeps goes to the
// tail, and
//   the directions keep only what they have above the tail. Taking the noise out of the track itself makes the newest
//   release displace every direction found before it, and drives the tail to zero.
// - The noise's mean is known, but the largest direction in noise has more: E times as much, below. Only what is above
// that
//   becomes a direction's variance.
// - A tail below its own standard error is taken to be that. Nothing being known, Σ comes out as a multiple of the
// identity.
#include <ATen/core/Tensor.h>

#include "privacy/methods/geometry_spiked.hpp"

namespace rldp::privacy {

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
