#pragma once
// Noise that is correlated over steps, C⁻¹z in place of z: what a step adds is partly taken back by later ones
// (docs/privacy.md §14). Trusted side.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "privacy/accounting/banded_matrix.hpp"

namespace rldp::privacy {

/// Step by step, by forward substitution: x_t = (z_t − c_1·x_{t−1} − … − c_{b−1}·x_{t−b+1})/c_0. The last b − 1 vectors
/// x, in units of each step's own scale, are kept in memory, 8·(b − 1) bytes a coordinate, and nowhere else: whoever
/// had them could take the noise off the releases. So every object, hence every process, begins a new block of C, as if
/// no step came before. Of one band x is z to the last bit, and nothing is kept.
class correlated_noise {
  public:
    correlated_noise(band_coefficients bands, std::int64_t coordinates);
    correlated_noise(correlated_noise&&) = default;  // a copy would share what is remembered

    /// Begins the step of a ledger's seq, which is new (sanitizer::begin). A new block begins where it doesn't follow
    /// the step before, or where that one did not get all its noise.
    void begin(std::uint64_t seq);
    /// From z to x in place, for the coordinates from `first` on: each of them once a step. Threads may take different
    /// ones; the numbers depend on no thread.
    void correlate(std::int64_t first, std::span<double> noise);

  private:
    std::size_t kept() const { return bands_.size() - 1; }
    double* remembered(std::uint64_t seq);  ///< x of that step, all coordinates

    band_coefficients bands_;
    std::int64_t coordinates_;
    at::Tensor last_;                    ///< float64 [b − 1, D]: x of step seq in row seq mod (b − 1)
    std::uint64_t seq_ = 0, first_ = 1;  ///< the step under way, and the first of its block
    std::int64_t done_ = 0;              ///< of its coordinates
};

}  // namespace rldp::privacy
