#pragma once
// What a block of releases shows of an adapter, on its own scale: the same numbers whatever radius, batch and noise.
// Runs and made-up tasks take them from here.
#include <algorithm>
#include <cmath>
#include <optional>

namespace rldp::rl {

struct adapter_features {
    double signal = 0;             ///< see compute_signal()
    double cosine = 0;             ///< between the sums of the last two blocks that it took part in; 0 before
    double along = 0;              ///< see compute_along(); 0 before a second block with releases
    double update = std::exp(-9);  ///< see compute_update()
};

/// asinh(‖x‖²/v − 1): how much longer a block's sum of releases is than noise alone would make it. `squares` is ‖x‖²,
/// `noise` v what it would be on average, releases × numbers × variance.
inline double compute_signal(double squares, double noise) {
    return std::asinh(squares / std::max(noise, 1e-300) - 1);
}

/// 0 where a sum is zero.
inline double compute_cosine(double product, double norm, double other_norm) {
    return norm > 0 && other_norm > 0 ? product / (norm * other_norm) : 0;
}

/// Cosine between what a block's sum of releases Σ asks for, −Σ, and how the block before it moved the adapter, Δ;
/// `product` is Σ·Δ. Above 0 it goes on downhill where the last block went, the rate is too low for that; below 0 the
/// block went past the lowest point of its line; 0 is that point, where the slope along the line vanishes. Δ knows
/// nothing of Σ's noise, so noise shortens the mean and doesn't bias it. The sign of hypergradient descent (Baydin et
/// al. 2018), from noisy sums.
inline double compute_along(double product, double norm, double moved) {
    return compute_cosine(-product, norm, moved);
}

/// What a block's releases say of the common rate: the slope along the block before's move, ⟨−Σ, Δ⟩ over all adapters,
/// over the deviation that noise alone would give it, so that its variance is one where nothing is to be learned, for
/// any number of adapters and numbers. Above 0 the rate is too low, below 0 too high, as with compute_along().
class slope_score {
  public:
    /// Of an adapter. `product` is Σ·Δ with Σ in units of the noise on a number of a release; `deviation` that noise,
    /// so that adapters count as they do in the slope; `moved` ‖Δ‖².
    void add(double product, double deviation, double moved, double releases) {
        slope_ -= deviation * product;
        variance_ += releases * deviation * deviation * moved;
    }
    /// None where nothing moved, or nothing was released.
    std::optional<double> value() const {
        if (variance_ <= 0) return std::nullopt;
        return slope_ / std::sqrt(variance_);
    }

  private:
    double slope_ = 0, variance_ = 0;
};

/// How far a block moved an adapter over how large it is, e⁻⁹ at least.
inline double compute_update(double moved, double size) {
    return std::max(size > 0 ? moved / size : 0, std::exp(-9));
}

}  // namespace rldp::rl
