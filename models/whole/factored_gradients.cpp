#include "models/whole/factored_gradients.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "models/kernels/products.hpp"

namespace rldp::models {

namespace {

constexpr double unit_roundoff = 0x1p-24;  // of float32
constexpr double least_normal = 0x1p-126;  // what a product may lose where it underflows
/// Sums that large are not computed with: they could overflow.
constexpr double most = 0x1p50;
/// Numbers that are widened to float64 at a time.
constexpr std::int64_t wide_numbers = std::int64_t{1} << 20;
/// Numbers of a gradient that are there at a time: they stay in the second-level cache.
constexpr std::int64_t tile_numbers = std::int64_t{1} << 16;

/// γ_n of Higham 2002, §3.1: a sum of n products is off by at most γ_n·Σ|products|, in any order.
double compute_gamma(std::int64_t n) {
    const double nu = static_cast<double>(n) * unit_roundoff;
    return nu / (1 - nu);
}

/// One unit's factors of one matrix. The gradient is Σ left_i·right_iᵀ over positions i; where the tensor is looked up,
/// left_i is a row of the unit matrix.
struct unit_factors {
    at::Tensor left, right;     ///< [n, rows], [n, columns] or undefined
    at::Tensor ids, looked_up;  ///< [m] and [m, columns], or undefined

    std::int64_t positions() const { return (left.defined() ? left.size(0) : 0) + (ids.defined() ? ids.numel() : 0); }
};

unit_factors slice_factors(const backward_factors& page, std::int64_t unit) {
    const auto u = static_cast<std::size_t>(unit);
    unit_factors out;
    if (page.product) {
        const auto begin = page.product->first[u], count = page.product->first[u + 1] - begin;
        out.left = page.product->left.narrow(0, begin, count);
        out.right = page.product->right.narrow(0, begin, count);
    }
    if (page.lookup) {
        const auto begin = page.lookup->first[u], count = page.lookup->first[u + 1] - begin;
        out.ids = page.lookup->ids.narrow(0, begin, count);
        out.looked_up = page.lookup->right.narrow(0, begin, count);
    }
    return out;
}

at::Tensor row_norms(const at::Tensor& rows) {
    auto out = at::empty({rows.size(0)}, rows.options().dtype(at::kDouble));
    const auto step = std::max<std::int64_t>(1, wide_numbers / std::max<std::int64_t>(1, rows.size(1)));
    for (std::int64_t at = 0; at < rows.size(0); at += step) {
        const auto count = std::min(step, rows.size(0) - at);
        out.narrow(0, at, count).copy_(rows.narrow(0, at, count).to(at::kDouble).square_().sum(1).sqrt_());
    }
    return out;
}

/// x·yᵀ in float64.
at::Tensor inner_products(const at::Tensor& x, const at::Tensor& y) {
    auto out = at::zeros({x.size(0), y.size(0)}, x.options().dtype(at::kDouble));
    const auto step = std::max<std::int64_t>(1, wide_numbers / std::max<std::int64_t>(1, x.size(0) + y.size(0)));
    for (std::int64_t at = 0; at < x.size(1); at += step) {
        const auto width = std::min(step, x.size(1) - at);
        const auto columns = [&](const at::Tensor& t) { return t.narrow(1, at, width).to(at::kDouble); };
        out.addmm_(columns(x), columns(y).t());
    }
    return out;
}

double summed(const at::Tensor& t) {
    return t.sum().item<double>();
}

/// ‖Σ left_i·right_iᵀ‖² by Gram matrices: Σ_ij ⟨left_i, left_j⟩⟨right_i, right_j⟩.
double squared_by_grams(const unit_factors& f) {
    double out = 0;
    if (f.left.defined()) out += summed(inner_products(f.left, f.left).mul_(inner_products(f.right, f.right)));
    if (!f.ids.defined()) return out;
    const auto same = f.ids.unsqueeze(1).eq(f.ids);
    out += summed(inner_products(f.looked_up, f.looked_up).mul_(same));
    if (f.left.defined())  // a tied head and its embedding meet in the rows of the unit's own tokens
        out += 2 * summed(inner_products(f.right, f.looked_up).mul_(f.left.index_select(1, f.ids)));
    return out;
}

std::int64_t rows_at_once(std::int64_t columns) {
    return std::max<std::int64_t>(1, tile_numbers / columns);
}

/// One unit's gradient of one matrix, some rows at a time. The order in which a number's summands are added up depends
/// on the unit's factors alone.
class unit_tiles {
  public:
    explicit unit_tiles(unit_factors factors) : factors_(std::move(factors)) {
        if (!factors_.ids.defined()) return;
        const auto [ids, place, counts] = at::_unique2(factors_.ids, true, true, false);
        touched_ = ids;
        sums_ = at::zeros({ids.numel(), factors_.looked_up.size(1)}, factors_.looked_up.options())
                    .index_add_(0, place.flatten(), factors_.looked_up);
    }

    /// All rows from `begin` on into `out` [r, columns]. Only of products, or products and a lookup.
    void rows(std::int64_t begin, at::Tensor& out) const {
        product_into(out, factors_.left.narrow(1, begin, out.size(0)).t(), factors_.right);
        if (!touched_.defined()) return;
        const auto here = touched_.ge(begin).logical_and(touched_.lt(begin + out.size(0))).nonzero().squeeze(1);
        if (here.numel() > 0) out.index_add_(0, touched_.index_select(0, here) - begin, sums_.index_select(0, here));
    }

    /// The rows that a lookup touches, each once: see(row, numbers). Only of a lookup alone.
    template <class See>
    void touched(See see) const {
        if (!touched_.defined()) return;
        const auto rows = touched_.to(at::kCPU);
        for (std::int64_t i = 0; i < rows.numel(); ++i) see(rows.data_ptr<std::int64_t>()[i], sums_[i]);
    }

    bool has_product() const { return factors_.left.defined(); }
    const at::Tensor& sums() const { return sums_; }

  private:
    unit_factors factors_;
    at::Tensor touched_, sums_;
};

double squared(const at::Tensor& numbers) {
    return numbers.to(at::kDouble).square_().sum().item<double>();
}

/// ‖gradient‖² of the numbers as unit_tiles makes them.
double squared_by_tiles(const unit_factors& f, std::int64_t rows) {
    const unit_tiles tiles(f);
    if (!tiles.has_product()) return squared(tiles.sums());
    const auto columns = f.right.size(1), step = std::min(rows, rows_at_once(columns));
    const auto scratch = at::empty({step, columns}, f.right.options());
    double out = 0;
    for (std::int64_t begin = 0; begin < rows; begin += step) {
        auto tile = scratch.narrow(0, 0, std::min(step, rows - begin));
        tiles.rows(begin, tile);
        out += squared(tile);
    }
    return out;
}

/// What a bound needs of the factors' sizes. Positions one of whose factors is zero add exact zeros and are not
/// counted: how many of them padding makes is up to the other units, and which factor it leaves zero up to the module.
struct row_sizes {
    double products = 0;  ///< Σ ‖left_i‖·‖right_i‖
    std::int64_t positions = 0;
};

row_sizes compute_sizes(const unit_factors& f) {
    row_sizes out;
    const auto take = [&](const at::Tensor& left, const at::Tensor& right) {
        const auto products = left * right;
        out.products += summed(products);
        out.positions += products.ne(0).sum().item<std::int64_t>();
    };
    if (f.left.defined()) take(row_norms(f.left), row_norms(f.right));
    if (f.ids.defined()) {
        const auto right = row_norms(f.looked_up);
        take(at::ones_like(right), right);
    }
    return out;
}

/// docs/privacy.md §12. S = Σ ‖left_i‖‖right_i‖ bounds every sum of absolute values below. Which way the norm is
/// computed depends on shapes alone, and moves the bound by what rounding moves the numbers.
double bound_norm(const unit_factors& f, std::int64_t rows, std::int64_t columns) {
    if (f.positions() == 0) return 0;
    const auto sizes = compute_sizes(f);
    if (!(sizes.products < most)) return std::numeric_limits<double>::infinity();  // no number, too
    // A Gram matrix takes n²·(rows + columns) products, the gradient n·rows·columns.
    const bool long_unit = f.positions() * (rows + columns) >= rows * columns;
    const double squares = !f.left.defined() || long_unit ? squared_by_tiles(f, rows) : squared_by_grams(f);
    const auto count = static_cast<double>(sizes.positions), area = static_cast<double>(rows * columns);
    const double of_float64 = (count * count + static_cast<double>(rows + columns)) * 0x1p-52;  // in parts of S²
    // How far the numbers are from the exact sum, whoever adds them up: once as measured here, once as shown.
    const double shown =
        compute_gamma(sizes.positions + 1) * sizes.products + 2 * least_normal * count * std::sqrt(area);
    return (std::sqrt(std::max(0.0, squares) + of_float64 * sizes.products * sizes.products) + 2 * shown) *
           (1 + area * 0x1p-52);
}

}  // namespace

factored_gradients::factored_gradients(std::vector<trained_tensor> tensors, std::vector<backward_factors> pages,
                                       std::int64_t units)
    : tensors_(std::move(tensors)), pages_(std::move(pages)), units_(units) {
    require(tensors_.size() == pages_.size(), "pages of other tensors");
}

at::Tensor factored_gradients::norm_bounds() const {
    const at::NoGradGuard no_grad;
    auto out = at::zeros({units_, std::ssize(tensors_)}, at::kDouble);
    for (std::int64_t t = 0; t < std::ssize(tensors_); ++t) {
        const auto& tensor = tensors_[static_cast<std::size_t>(t)];
        const auto& page = pages_[static_cast<std::size_t>(t)];
        if (page.sums.defined()) {
            out.select(1, t).copy_(row_norms(page.sums));  // of these very numbers: nothing to allow for
            continue;
        }
        if (tensor.shape.size() == 1) continue;  // nothing arrived: zeros
        for (std::int64_t unit = 0; unit < units_; ++unit)
            out[unit][t] = bound_norm(slice_factors(page, unit), tensor.shape[0], tensor.shape[1]);
    }
    return out;
}

void factored_gradients::each(const std::vector<bool>& wanted, const viewer& see) const {
    const at::NoGradGuard no_grad;
    require(std::ssize(wanted) == units_, "wanted units of another chunk");
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
        const auto& tensor = tensors_[t];
        const auto& page = pages_[t];
        std::vector<std::pair<std::int64_t, unit_tiles>> units;
        for (std::int64_t unit = 0; unit < units_; ++unit) {
            if (!wanted[static_cast<std::size_t>(unit)]) continue;
            if (page.sums.defined())
                see(unit, tensor.offset, page.sums[unit]);
            else if (page.product || page.lookup)
                units.emplace_back(unit, unit_tiles(slice_factors(page, unit)));
        }
        if (units.empty()) continue;
        const auto columns = tensor.shape[1];
        if (!page.product) {
            for (const auto& [unit, tiles] : units) {
                const auto whose = unit;
                tiles.touched([&](std::int64_t row, const at::Tensor& numbers) {
                    see(whose, tensor.offset + row * columns, numbers);
                });
            }
            continue;
        }
        // One place of the sum for all units before the next one.
        const auto step = std::min(tensor.shape[0], rows_at_once(columns));
        const auto scratch = at::empty({step, columns}, page.product->right.options());
        for (std::int64_t begin = 0; begin < tensor.shape[0]; begin += step) {
            auto tile = scratch.narrow(0, 0, std::min(step, tensor.shape[0] - begin));
            for (const auto& [unit, tiles] : units) {
                tiles.rows(begin, tile);
                see(unit, tensor.offset + begin * columns, tile.view({-1}));
            }
        }
    }
}

}  // namespace rldp::models
