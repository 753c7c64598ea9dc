#pragma once
// Functions of a block whose backward pass notes in a book what a trained tensor's gradient is made of. With no book,
// or where the tensor is not trained, they are the plain functions.
#include <ATen/core/Tensor.h>

#include "models/whole/gradient_book.hpp"

namespace rldp::models {

/// Rows `ids` [b, T] of a table [V, width].
at::Tensor look_up(const at::Tensor& table, const at::Tensor& ids, backward_cache* book);

/// Layer norm over the last dimension of x [N, d], gain and offset [d].
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& offset, double epsilon,
                      backward_cache* book);

}  // namespace rldp::models
