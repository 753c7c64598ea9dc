#include "privacy/mechanism/statistics.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "config/base/require.hpp"
#include "privacy/mechanism/measurement.hpp"

namespace rldp::privacy {

double statistics_weights::sensitivity(std::size_t groups) const {
    return std::sqrt(0.75 * static_cast<double>(groups) * quantile * quantile + loss * loss + moment * moment);
}

statistics_weights weights_for(std::size_t groups) {
    require(groups > 0, "statistics need at least one group");
    // Δ² = 1 in three parts. With noise s_φ = z_φ on every entry, an entry of weight w is read with noise z_φ/w, so a
    // part p of Δ² buys: bits z_φ·sqrt(¾n/p), loss z_φ·R_ℓ/√p, moments z_φ/√p. The bits get half, for their noise grows
    // as √n and the radii hang on them; the loss, whose differences are the reward, ⅜; the moments only colour the
    // state, ⅛.
    return {std::sqrt(0.5 / (0.75 * static_cast<double>(groups))), std::sqrt(0.375), std::sqrt(0.125)};
}

bounded_sum statistics_sum(const at::Tensor& norms, const at::Tensor& losses, const statistics_frame& frame) {
    const std::size_t groups = frame.trackers.size();
    const auto weights = weights_for(groups);
    require(norms.dim() == 2 && norms.size(1) == static_cast<std::int64_t>(groups) && losses.numel() == norms.size(0),
            "statistics: norms must be [units, groups] and losses [units]");
    for (double range : {frame.loss_range, frame.norm_range}) require_positive(range, "a range of the statistics");
    const auto host_norms = norms.to(at::kCPU, at::kDouble).contiguous();
    const auto host_losses = losses.to(at::kCPU, at::kDouble).contiguous();
    std::vector<double> sum(3 * groups + 5, 0.0);
    double* const loss_part = sum.data() + 3 * groups;
    for (std::int64_t unit = 0; unit < norms.size(0); ++unit) {
        const double* row = host_norms.data_ptr<double>() + unit * norms.size(1);
        double power_sums[4] = {0, 0, 0, 0};
        for (std::size_t i = 0; i < groups; ++i) {
            // Not finite counts as far away: no bit is set and the moment is clipped, so φ keeps its bound.
            for (std::size_t k = 0; k < 3; ++k) sum[3 * i + k] += within(row[i] / frame.trackers[i][k]) - 0.5;
            const double ratio = row[i] / frame.norm_range;
            const double clipped = ratio < 1 ? std::max(ratio, 0.0) : 1.0;
            double power = 1;
            for (double& total : power_sums) total += power *= clipped;
        }
        if (const double loss = host_losses.data_ptr<double>()[unit]; std::isfinite(loss)) {
            *loss_part += std::clamp((loss - frame.loss_centre) / frame.loss_range, -1.0, 1.0);
        }
        for (int k = 0; k < 4; ++k) loss_part[1 + k] += power_sums[k] / static_cast<double>(groups) - 0.5;
    }
    for (std::size_t j = 0; j < 3 * groups; ++j) sum[j] *= weights.quantile;
    *loss_part *= weights.loss;
    for (int k = 1; k <= 4; ++k) loss_part[k] *= weights.moment;
    return {std::move(sum), weights.sensitivity(groups)};
}

std::vector<double> observation::flat() const {
    auto out = quartiles;
    out.insert(out.end(), {utility, epsilon, variance, loss, fisher_mean, fisher_variance, skewness, kurtosis});
    return out;
}

}  // namespace rldp::privacy
