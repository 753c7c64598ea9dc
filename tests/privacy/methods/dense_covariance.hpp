#pragma once
// Spiked covariances as dense matrices.
#include <ATen/ATen.h>

#include <vector>

#include "privacy/methods/geometries.hpp"

inline at::Tensor orthonormal(std::int64_t size, std::int64_t rank) {
    if (rank == 0) return at::zeros({size, 0}, at::kDouble);
    return std::get<0>(at::linalg_qr(at::randn({size, rank}, at::kDouble)));
}

inline at::Tensor dense(const rldp::privacy::spiked_block& of) {
    const auto projector = of.directions.matmul(of.directions.t());
    return of.directions.matmul(at::diag(of.variances)).matmul(of.directions.t()) +
           of.tail * (at::eye(projector.size(0), at::kDouble) - projector);
}

inline at::Tensor dense(const std::vector<rldp::privacy::spiked_block>& blocks) {
    std::vector<at::Tensor> parts;
    for (const auto& each : blocks) parts.push_back(dense(each));
    return at::block_diag(parts);
}

inline double compute_trace(const at::Tensor& matrix) {
    return matrix.trace().item<double>();
}

inline bool near(const at::Tensor& a, const at::Tensor& b, double relative) {
    return ((a - b).abs().max() <= relative * b.abs().max()).item<bool>();
}
