#include "bench/product_bound.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "bench/timing.hpp"
#include "models/architecture/modules.hpp"
#include "models/kernels/products.hpp"

namespace rldp::bench {

namespace {

class products {
  public:
    explicit products(const at::TensorOptions& options) : options_(options) {}

    /// `times` products [batch, m, k]·[batch, k, n], of which `part` has to be computed.
    void add(std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n, double times, double part = 1) {
        const auto shape = std::tuple(batch, m, k, n);
        if (!known_.contains(shape)) known_[shape] = time(batch, m, k, n);
        total_.milliseconds += times * part * known_[shape];
        total_.gigaflop += times * part * 2e-9 * static_cast<double>(batch * m) * static_cast<double>(k * n);
    }
    const product_bound& total() const { return total_; }

  private:
    double time(std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n) const {
        // Of a very tall product a part is timed.
        const std::int64_t rows =
            std::min(m, std::max<std::int64_t>(256, (std::int64_t{1} << 27) / (batch * std::max(k, n))));
        const auto left = at::randn({batch, rows, k}, options_), right = at::randn({batch, k, n}, options_);
        const auto first = left[0], second = right[0];
        auto out = at::empty({batch, rows, n}, options_), out_first = out[0];
        const auto span = median_milliseconds(5, options_.device(), [&] {
            if (batch == 1)
                models::product_into(out_first, first, second);
            else
                at::bmm_out(out, left, right);
        });
        return span * static_cast<double>(m) / static_cast<double>(rows);
    }

    at::TensorOptions options_;
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, double> known_;
    product_bound total_{0, 0};
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
