#pragma once
// What a step releases of its batch besides the gradient sum: bounded per unit, summed over units and noised jointly
// with the gradient (docs/privacy.md §2). Its public frame depends on earlier releases only.
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace at {
class Tensor;
}

namespace rldp::privacy {

struct statistics_frame;

/// A bit that says whether a norm lies within a radius, drawn out to a slope over the 5 % on either side. The rounding
/// of a unit's norm depends on who else was drawn; a bit would flip with it, a slope moves by ten times the rounding.
inline constexpr double edge = 0.05;
/// 1 well within the radius, 0 well beyond it or where the ratio norm/radius is no number.
inline double within(double ratio) {
    return ratio <= 1 - edge ? 1 : ratio < 1 + edge ? (1 + edge - ratio) / (2 * edge) : 0;
}

/// The public side makes one and sends it; on the trusted side it sees norms and losses. So the kinds are closed:
/// whatever else could look at a batch here, and tell, does not compile.
class measurement {
  public:
    virtual ~measurement() = default;
    virtual std::size_t entries() const = 0;
    /// Δ: no unit's vector is longer, in L2.
    virtual double sensitivity() const = 0;
    /// Adds Σ_b φ_b to `sum` [entries]. `norms` float64 [b, n], `losses` float64 [b] or [b, 1 + probes], on the CPU.
    virtual void add(const at::Tensor& norms, const at::Tensor& losses, std::vector<double>& sum) const = 0;
    /// Its kind and numbers, for measurement_from.
    virtual nlohmann::json described() const = 0;

  private:
    measurement() = default;
    friend class statistics_measurement;
    friend class below_measurement;
    friend class histogram_measurement;
    friend class losses_measurement;
};

/// The controller's statistics (statistics.hpp).
std::shared_ptr<const measurement> measure_statistics(const statistics_frame& frame);

/// Σ_b (within(ν_b/radius) − ½) of one group: Δ = ½, for the shift leaves a unit's presence or absence half a bit
/// (Andrew et al. 2021; unshifted bits have Δ = 1).
std::shared_ptr<const measurement> measure_below(double radius);

/// How many ν_b fall in each of `bins` bins of that width, the last without an end; a norm within `edge` bins of where
/// two meet counts in both, by parts. Δ = 1: a unit's parts sum to 1.
std::shared_ptr<const measurement> measure_histogram(double width, std::size_t bins);

/// The one that was described so. Errors: bad_input for what describes none.
std::shared_ptr<const measurement> measurement_from(const nlohmann::json& described);

/// Σ_b (clip(ℓ_{b,k}/range, 0, 1) − ½) of the losses at each probe k: Δ = √probes/2. A loss that is no number adds 0.
std::shared_ptr<const measurement> measure_losses(double range, std::size_t probes);

}  // namespace rldp::privacy
