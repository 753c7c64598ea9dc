#include "bench/product_bound.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "bench/timing.hpp"
#include "models/architecture/family.hpp"
#include "models/kernels/products.hpp"

namespace rldp::bench {

namespace {

/// More than last-level caches hold.
constexpr std::int64_t beyond_caches = std::int64_t{1} << 28;

struct spans {
    double cached, from_memory;
};

class products {
  public:
    explicit products(const at::TensorOptions& options) : options_(options) {}

    /// `times` products [batch, m, k]·[batch, k, n], of which `part` has to be computed.
    void add(std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n, double times, double part = 1) {
        const auto shape = std::tuple(batch, m, k, n);
        if (!known_.contains(shape)) known_[shape] = time(batch, m, k, n);
        total_.milliseconds += times * part * known_[shape].cached;
        total_.milliseconds_from_memory += times * part * known_[shape].from_memory;
        total_.gigaflop += times * part * 2e-9 * static_cast<double>(batch * m) * static_cast<double>(k * n);
    }
    const product_bound& total() const { return total_; }

  private:
    spans time(std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n) const {
        // Of a very tall product a part is timed.
        const std::int64_t rows =
            std::min(m, std::max<std::int64_t>(256, (std::int64_t{1} << 27) / (batch * std::max(k, n))));
        const auto bytes =
            batch * (rows * k + k * n + rows * n) * static_cast<std::int64_t>(options_.dtype().itemsize());
        const auto copies = static_cast<std::size_t>(2 + beyond_caches / bytes);
        std::vector<std::array<at::Tensor, 3>> operands(copies);
        const auto shaped = [&](std::int64_t height, std::int64_t width) {
            return batch == 1 ? std::vector{height, width} : std::vector{batch, height, width};
        };
        for (auto& [left, right, out] : operands) {
            left = at::randn(shaped(rows, k), options_);
            right = at::randn(shaped(k, n), options_);
            out = at::empty(shaped(rows, n), options_);
        }
        const auto compute = [&](std::size_t copy) {
            auto& [left, right, out] = operands[copy];
            if (batch == 1)
                models::product_into(out, left, right);
            else
                at::bmm_out(out, left, right);
        };
        std::size_t next = 0;
        const double whole = static_cast<double>(m) / static_cast<double>(rows);
        return {median_milliseconds(5, options_.device(), [&] { compute(0); }) * whole,
                median_milliseconds(5, options_.device(), [&] { compute(next++ % copies); }) * whole};
    }

    at::TensorOptions options_;
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, spans> known_;
    product_bound total_{0, 0, 0};
};

bool fed_by_embedding(const models::linear_module& module) {
    return module.role == "q" || module.role == "k" || module.role == "v" || module.role == "c_attn" ||
           module.role == "qkv_proj";
}

}  // namespace

product_bound measure_product_bound(const models::model_config& model, std::int64_t batch, std::int64_t length,
                                    const at::TensorOptions& options) {
    const at::NoGradGuard no_grad;
    const std::int64_t tokens = batch * length, labelled = batch * (length - 1);
    const auto layers = static_cast<double>(model.layers);
    products all(options);
    for (const auto& module : models::block_modules(model, 0)) {
        if (!module.inside.empty()) continue;  // parts of a fused module are one product
        all.add(1, tokens, module.d_in, module.d_out, layers);
        all.add(1, tokens, module.d_out, module.d_in, fed_by_embedding(module) ? layers - 1 : layers);
    }
    all.add(1, labelled, model.width, model.vocab, 1);
    all.add(1, labelled, model.vocab, model.width, 1);
    // Scores, and the same shape for the gradient of the weights; then what sums over keys or queries: output, ∇V, ∇Q,
    // ∇K.
    const double seen = static_cast<double>(length + 1) / static_cast<double>(2 * length);
    all.add(batch * model.heads, length, model.head_dim, length, 2 * layers, seen);
    all.add(batch * model.heads, length, length, model.head_dim, 4 * layers, seen);
    return all.total();
}

}  // namespace rldp::bench
