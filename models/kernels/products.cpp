#include "models/kernels/products.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace rldp::models {

namespace {

/// Wider products are OpenBLAS's: at 2,048 its kernels are a tenth faster than oneDNN's.
constexpr std::int64_t most_of_shorter_side = 1024;

// Looked up at run time, as OpenBLAS's own functions are: both are LibTorch's choice.
using sgemm = int (*)(char a_turned, char b_turned, std::int64_t n, std::int64_t m, std::int64_t k, float alpha,
                      const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride, float beta,
                      float* out, std::int64_t out_stride);

sgemm onednn() {
    static const auto found = dlsym(RTLD_DEFAULT, "openblas_get_config")
                                  ? reinterpret_cast<sgemm>(dlsym(RTLD_DEFAULT, "dnnl_sgemm"))
                                  : nullptr;
    return found;
}

/// A matrix in rows, or in columns ('T'), and how far these are apart.
struct layout {
    char turned;
    std::int64_t stride;
};

std::optional<layout> find_blas_layout(const at::Tensor& t) {
    const auto rows = t.size(0), columns = t.size(1);
    if (t.stride(1) == 1 && t.stride(0) >= columns) return layout{'N', t.stride(0)};
    if (t.stride(0) == 1 && t.stride(1) >= rows) return layout{'T', t.stride(1)};
    return {};
}

bool is_of_floats(const at::Tensor& t) {
    return t.device().is_cpu() && t.scalar_type() == at::kFloat && t.dim() == 2 && t.numel() > 0;
}

bool is_recorded(const at::Tensor& a, const at::Tensor& b, const at::Tensor& sum = {}) {
    return at::GradMode::is_enabled() &&
           (a.requires_grad() || b.requires_grad() || (sum.defined() && sum.requires_grad()));
}

/// Whether a·b is oneDNN's.
bool suits_onednn(const at::Tensor& a, const at::Tensor& b) {
    return onednn() && is_of_floats(a) && is_of_floats(b) && a.size(1) == b.size(0) &&
           std::min(b.size(0), b.size(1)) <= most_of_shorter_side && find_blas_layout(a) && find_blas_layout(b);
}

/// out = beta·out + a·b, or false where that is LibTorch's.
bool by_onednn(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, float beta) {
    if (!suits_onednn(a, b) || !is_of_floats(out) || out.size(0) != a.size(0) || out.size(1) != b.size(1)) return false;
    const auto left = *find_blas_layout(a), right = *find_blas_layout(b);
    const auto to = find_blas_layout(out);
    if (!to || to->turned != 'N') return false;
    RECORD_FUNCTION("onednn::sgemm", {});
    return onednn()(left.turned, right.turned, a.size(0), b.size(1), a.size(1), 1, a.data_ptr<float>(), left.stride,
                    b.data_ptr<float>(), right.stride, beta, out.data_ptr<float>(), to->stride) == 0;
}

}  // namespace

at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& offsets) {
    if (is_recorded(a, b, offsets) || !suits_onednn(a, b))
        return offsets.defined() ? at::addmm(offsets, a, b) : at::mm(a, b);
    if (!offsets.defined()) {
        auto out = at::empty({a.size(0), b.size(1)}, a.options());
        product_into(out, a, b);
        return out;
    }
    auto out = offsets.expand({a.size(0), b.size(1)}).clone(at::MemoryFormat::Contiguous);
    return product_onto(out, a, b);
}

void product_into(at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
    if (!by_onednn(out, a, b, 0)) at::mm_out(out, a, b);
}

at::Tensor& product_onto(at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) {
    if (is_recorded(a, b, sum) || !by_onednn(sum, a, b, 1)) sum.addmm_(a, b);
    return sum;
}

std::string onednn_name() {
    struct version {  // the beginning of dnnl_version_t
        int major, minor, patch;
    };
    using ask = const version* (*)();
    const auto found = onednn() ? reinterpret_cast<ask>(dlsym(RTLD_DEFAULT, "dnnl_version")) : nullptr;
    if (!found) return {};
    return fmt::format("oneDNN {}.{}.{}", found()->major, found()->minor, found()->patch);
}

}  // namespace rldp::models
