#include <ATen/ATen.h>

#include "privacy/mechanism/sanitizer.hpp"

namespace rldp::privacy {

raw_statistics compute_raw_statistics(const at::Tensor& norms, const at::Tensor& losses) {
    raw_statistics out;
    const auto groups = norms.size(1);
    out.units = norms.size(0);
    out.quartiles.resize(static_cast<std::size_t>(groups));
    if (out.units == 0) return out;
    const auto levels = at::tensor({0.25, 0.5, 0.75}, at::kDouble);
    const auto quartiles = at::quantile(norms, levels, 0).contiguous();  // [3, n]
    for (std::int64_t i = 0; i < groups; ++i) {
        for (std::int64_t k = 0; k < 3; ++k) {
            out.quartiles[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)] =
                quartiles.data_ptr<double>()[k * groups + i];
        }
    }
    // Over units and groups together, as the publication pools them; one value alone has no spread.
    const auto centred = norms - norms.mean();
    const auto squares = norms.square();
    const double variance = centred.square().mean().item<double>();
    const auto finite_losses = losses.masked_select(losses.isfinite());
    out.loss = finite_losses.numel() > 0 ? finite_losses.mean().item<double>() : 0;
    out.variance = variance;
    out.fisher_mean = squares.mean().item<double>();
    out.fisher_variance = (squares - squares.mean()).square().mean().item<double>();
    if (variance > 0) {
        out.skewness = centred.pow(3).mean().item<double>() / std::pow(variance, 1.5);
        out.kurtosis = centred.pow(4).mean().item<double>() / (variance * variance);
    }
    return out;
}

}  // namespace rldp::privacy
