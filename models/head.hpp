#pragma once
// The language-modelling head and its cross-entropy, in chunks of rows so that [rows, V] is held for few of them.
#include <ATen/core/Tensor.h>

#include "models/causal_lm.hpp"

namespace rldp::models {

/// Positions that predict a labelled token: position t of a row predicts label t+1.
struct predicted_positions {
    at::Tensor rows;     ///< [M] int64 on the device, into [b·T, width]
    at::Tensor targets;  ///< [M] int64 on the device
    at::Tensor places;   ///< [b·T] int64 on the device, the reverse of rows: which of the M, or M for none
    at::Tensor record;   ///< [M] int64 on the CPU, which of the b records
    at::Tensor tokens;   ///< [b] int64 on the CPU
};
/// Of labels [b, T] on the CPU, where they were made and are counted: a device would have to be waited for.
predicted_positions predicted(const at::Tensor& labels, at::Device device);

/// x[rows], [M, width], differentiable. As spread_out(), by reading: nothing is added to one place by many threads of a
/// device, in whichever order they come.
at::Tensor take_rows(const at::Tensor& x, const predicted_positions& where);
/// values [M, …] where they belong, [b·T, …], zeros elsewhere.
at::Tensor spread_out(const at::Tensor& values, const predicted_positions& where);

struct token_losses {
    at::Tensor nll;       ///< [M] float32, nats
    at::Tensor d_hidden;  ///< [M, width], gradient of Σ weight·nll; undefined without weights
    at::Tensor d_logits;  ///< [M, V], the same of the head's outputs, where it is to be kept
};
/// hidden [M, width] after the final norm, head [V, width], `cap` of the logits, weights [M] float32 or undefined.
/// Computed outside autograd.
token_losses head_losses(const at::Tensor& hidden, const weight_matrix& head, std::optional<double> cap,
                         const at::Tensor& targets, const at::Tensor& weights, bool keeps_d_logits = false);

}  // namespace rldp::models
