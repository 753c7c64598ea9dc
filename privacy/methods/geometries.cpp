#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "privacy/methods/geometries.hpp"

namespace rldp::privacy {

diagonal_geometry::diagonal_geometry(at::Tensor centre, at::Tensor scales)
    : centre_(std::move(centre)), scales_(std::move(scales)) {
    require(centre_.isfinite().all().item<bool>() && (scales_.isfinite() & (scales_ > 0)).all().item<bool>(),
            "clipping geometry: centre and scales are not all finite, or a scale is not positive");
}

at::Tensor diagonal_geometry::norms(const at::Tensor& centred) const {
    return at::linalg_vector_norm(centred / scales_.to(centred.device(), /*non_blocking=*/true), 2, at::IntArrayRef{1});
}

namespace {

bool well_formed(const spiked_block& block) {
    const auto& u = block.directions;
    const auto rank = block.variances.numel();
    if (u.dim() != 2 || u.size(1) != rank || rank >= u.size(0)) return false;
    if (!(std::isfinite(block.tail) && block.tail > 0)) return false;
    const auto within = (block.variances >= block.tail) & (block.variances <= block.tail * most_spread);
    // Where U is not orthonormal the norm is another M's than the noise's.
    const auto gram = u.t().matmul(u) - at::eye(rank, u.options());
    return within.all().item<bool>() && (gram.abs() < 1e-10).all().item<bool>();
}

}  // namespace

double root_trace(const std::vector<spiked_block>& blocks) {
    double sum = 0;
    for (const auto& block : blocks) {
        const auto rest = static_cast<double>(block.directions.size(0) - block.variances.numel());
        sum += block.variances.sqrt().sum().item<double>() + rest * std::sqrt(block.tail);
    }
    return sum;
}

spiked_geometry::spiked_geometry(at::Tensor centre, std::vector<spiked_block> blocks)
    : centre_(std::move(centre)), blocks_(std::move(blocks)), root_trace_(privacy::root_trace(blocks_)) {
    std::int64_t coordinates = 0;
    for (auto& block : blocks_) {
        require(well_formed(block), "clipping geometry: a block is no spiked covariance");
        block.directions = block.directions.contiguous();  // another order in memory would give products other bits
        coordinates += block.directions.size(0);
    }
    require(centre_.numel() == coordinates && centre_.isfinite().all().item<bool>(),
            "clipping geometry: the centre is not finite, or not as long as the blocks");
}

at::Tensor spiked_geometry::norms(const at::Tensor& centred) const {
    // ‖Mc‖² = (1/S) Σ_p [λ⊥^(−½)·‖c_p‖² + Σ_i (λ_i^(−½) − λ⊥^(−½))·(u_i·c_p)²]
    auto squares = at::zeros({centred.size(0)}, centred.options());
    const auto there = [&](const at::Tensor& t) { return t.to(centred.device(), /*non_blocking=*/true); };
    std::int64_t offset = 0;
    for (const auto& block : blocks_) {
        const auto size = block.directions.size(0);
        const auto part = centred.narrow(1, offset, size);
        const double tail = 1 / std::sqrt(block.tail);
        squares.add_(at::linalg_vector_norm(part, 2, at::IntArrayRef{1}).square(), tail);
        if (block.variances.numel() > 0) {
            const auto along = part.matmul(there(block.directions));
            squares.addmv_(along.square(), there(block.variances.rsqrt() - tail));
        }
        offset += size;
    }
    return squares.div_(root_trace_).clamp_min_(0).sqrt_();
}

at::Tensor spiked_geometry::colour(const at::Tensor& white) const {
    // M⁻¹ξ = √S·[λ⊥^¼·ξ + U diag(λ^¼ − λ⊥^¼) Uᵀξ]
    std::vector<at::Tensor> parts;
    std::int64_t offset = 0;
    for (const auto& block : blocks_) {
        const auto& u = block.directions;
        const auto part = white.narrow(0, offset, u.size(0));
        const double tail = std::pow(block.tail, 0.25);
        parts.push_back(part * tail + u.matmul((block.variances.pow(0.25) - tail) * u.t().matmul(part)));
        offset += u.size(0);
    }
    return at::cat(parts) * std::sqrt(root_trace_);
}

at::Tensor spiked_geometry::deviations() const {
    std::vector<at::Tensor> parts;
    for (const auto& block : blocks_) {
        const double tail = std::sqrt(block.tail);
        parts.push_back(block.directions.square().matmul(block.variances.sqrt() - tail) + tail);
    }
    return (at::cat(parts) * root_trace_).sqrt();
}

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
