#include "privacy/methods/geometry_spiked.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

#include "config/base/require.hpp"

namespace rldp::privacy {

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

}  // namespace rldp::privacy
