#pragma once
// Products of matrices, as fast as the libraries here compute them: float32 ones on the CPU with a short side by
// oneDNN, which packs what OpenBLAS 0.3.21 is slow with (research/performance.md), others by LibTorch.
#include <ATen/core/Tensor.h>

#include <string>

namespace rldp::models {

/// a·b for a [n, k], b [k, m] of one type and device, and offsets [m] of each row where they are given. Autograd sees
/// it where it records.
at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& offsets = {});
/// out [n, m] = a·b; autograd doesn't see it.
void product_into(at::Tensor& out, const at::Tensor& a, const at::Tensor& b);
/// sum [n, m] += a·b; answers sum.
at::Tensor& product_onto(at::Tensor& sum, const at::Tensor& a, const at::Tensor& b);

/// oneDNN's name and version where it computes products, else empty. It does where LibTorch's BLAS is OpenBLAS, and
/// oneDNN, which comes with LibTorch, shows its sgemm.
std::string onednn_name();

}  // namespace rldp::models
