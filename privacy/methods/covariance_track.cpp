#include "privacy/methods/covariance_track.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace rldp::privacy {

namespace {

/// The diagonal of U diag(values) Uᵀ + value_k(I − UUᵀ) in another basis, its trace kept.
at::Tensor turned(const at::Tensor& values, const at::Tensor& from, const at::Tensor& to) {
    const auto rank = to.size(1);
    const auto rest = static_cast<double>(to.size(0) - rank);
    const auto tail = values.narrow(0, rank, 1), spikes = values.narrow(0, 0, rank);
    const auto along = from.t().matmul(to).square().t().matmul(spikes - tail) + tail;
    return at::cat({along, tail + (spikes.sum() - along.sum()) / rest});
}

}  // namespace

double noise_edge(double ratio) {
    // In units of the noise the moment is Σ_j w_j x_j x_jᵀ, w_j = (1−β)β^j. Its R-transform is ∫ dw/(1−dwg) over
    // w in (0, 1−β), over 1−β: −ln(1−x)/x with x = g·ratio. The bound is the least of 1/g plus that, at E = 1/(1−x):
    // E − 1 − ln E = ratio. The left side is convex in E, so Newton's steps from the right never overshoot.
    double bound = 1 + ratio + std::sqrt(2 * ratio);
    for (int i = 0; i < 50; ++i) bound -= (bound - 1 - std::log(bound) - ratio) / (1 - 1 / bound);
    return bound;
}

covariance_track fresh_track(std::int64_t coordinates, std::int64_t rank, double variance) {
    return {at::eye(coordinates, rank, at::kDouble), at::full({rank + 1}, variance, at::kDouble),
            at::zeros({rank + 1}, at::kDouble)};
}

covariance_track updated(const covariance_track& track, const at::Tensor& deviation, const at::Tensor& noise,
                         double expected_batch) {
    const auto rank = track.directions.size(1);
    const auto rest = static_cast<double>(track.directions.size(0) - rank);
    const auto added = noise * expected_batch;
    // The assumption Σ before the first release stands for a past that had this noise too.
    const bool first = track.noise.eq(0).all().item<bool>();
    const auto before = first ? added : track.noise;
    const auto energies = first ? track.energies + added : track.energies;

    const double tail = track_memory * energies[rank].item<double>();
    const auto excess = (track_memory * energies.narrow(0, 0, rank) - tail).clamp_min(0);
    const auto columns = at::cat(
        {track.directions * excess.sqrt(), deviation.unsqueeze(1) * std::sqrt((1 - track_memory) * expected_batch)}, 1);
    const auto [ascending, turns] = at::linalg_eigh(columns.t().matmul(columns));
    const auto values = ascending.flip(0).clamp_min(0);
    // QR, for a column whose eigenvalue is rounding has no direction of its own yet, and any orthonormal one will do.
    const auto directions =
        rank > 0 ? std::get<0>(at::linalg_qr(columns.matmul(turns.flip(1).narrow(1, 0, rank)))) : track.directions;
    return {directions, at::cat({values.narrow(0, 0, rank), values.narrow(0, rank, 1) / rest}) + tail,
            turned(track_memory * before + (1 - track_memory) * added, track.directions, directions)};
}

spiked_block estimate_covariance(const covariance_track& track, double least) {
    const auto rank = track.directions.size(1);
    const auto size = static_cast<double>(track.directions.size(0)), rest = size - static_cast<double>(rank);
    const auto clean = track.energies - track.noise;
    const double noise = track.noise[rank].item<double>();
    const double trace = clean.narrow(0, 0, rank).sum().item<double>() + rest * clean[rank].item<double>();
    // Of a moving average of squares of N(0, noise), over size coordinates.
    const double error = noise * std::sqrt(2 / size * (1 - track_memory) / (1 + track_memory));
    const double bulk = noise + std::max(trace / size, 0.0);
    const auto above = clean.narrow(0, 0, rank) - (noise_edge((1 - track_memory) * size) - 1) * bulk;
    // What is not believed is the tail's, like any direction outside U.
    const auto believed = above > std::max(trace / size, 0.0);
    const double others = size - believed.sum().item<double>();
    const double tail = std::max({(trace - above.masked_select(believed).sum().item<double>()) / others, error, least});
    return {track.directions, above.masked_fill(~believed, tail).clamp(tail, tail * most_spread), tail};
}

}  // namespace rldp::privacy
