#include "models/kernels/weight_matrix.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "base/error.hpp"
#include "models/kernels/products.hpp"

namespace rldp::models {

namespace {

std::int64_t choose_tile_rows(std::int64_t rows, std::int64_t columns) {
    constexpr std::int64_t largest_tile_bytes = std::int64_t{8} << 20, least_tile_rows = 128;
    const std::int64_t most = std::max(largest_tile_bytes / (4 * columns), least_tile_rows);
    const std::int64_t parts = (rows + most - 1) / most;
    return (rows + parts - 1) / parts;
}

bool is_recorded(const at::Tensor& x) {
    return at::GradMode::is_enabled() && x.requires_grad();
}

struct blocks_function : torch::autograd::Function<blocks_function> {
    static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const weight_matrix& by) {
        ctx->saved_data["by"] = c10::IValue::make_capsule(c10::make_intrusive<held>(by));
        return by.apply(x);
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                   const torch::autograd::variable_list& gradients) {
        const auto capsule = ctx->saved_data["by"].toCapsule();
        return {static_cast<const held&>(*capsule).by.pull_back(gradients[0]), {}};
    }

  private:
    struct held : torch::CustomClassHolder {
        explicit held(weight_matrix of) : by(std::move(of)) {}
        weight_matrix by;
    };
};

}  // namespace

std::int64_t count_tile_bytes(std::int64_t rows, std::int64_t columns) {
    return 4 * columns * choose_tile_rows(rows, columns);
}

weight_matrix::weight_matrix(quantized_tensor blocks, at::ScalarType type)
    : blocks_(std::move(blocks)), rows_(blocks_->rows), type_(type) {}

std::int64_t weight_matrix::rows() const {
    return blocks_ ? rows_ : numbers_.size(0);
}

std::int64_t weight_matrix::columns() const {
    return blocks_ ? blocks_->columns : numbers_.size(1);
}

at::TensorOptions weight_matrix::options() const {
    return blocks_ ? at::TensorOptions(type_).device(at::kCPU) : numbers_.options().requires_grad(false);
}

weight_matrix weight_matrix::narrow(std::int64_t first_row, std::int64_t rows) const {
    if (!blocks_) return weight_matrix(numbers_.narrow(0, first_row, rows));
    require(first_row >= 0 && rows > 0 && first_row + rows <= rows_, "rows beyond a matrix");
    auto out = *this;
    out.first_row_ += first_row;
    out.rows_ = rows;
    return out;
}

template <class Use>
void weight_matrix::for_each_tile(const Use& use) const {
    const auto step = choose_tile_rows(rows(), columns());
    const auto floats = at::empty({step, columns()}, at::kFloat);
    for (std::int64_t first = 0; first < rows(); first += step) {
        const auto count = std::min(step, rows() - first);
        auto tile = floats.narrow(0, 0, count);
        auto* out = tile.data_ptr<float>();
        at::parallel_for(0, count, std::max<std::int64_t>(1, 65'536 / columns()),
                         [&](std::int64_t begin, std::int64_t end) {
                             blocks_->read_rows(first_row_ + first + begin, end - begin, out + begin * columns());
                         });
        use(first, count, tile.to(type_));
    }
}

at::Tensor weight_matrix::apply(const at::Tensor& x, const at::Tensor& offsets) const {
    if (!blocks_) return product(x, numbers_.t(), offsets);
    if (is_recorded(x)) {
        const auto y = blocks_function::apply(x, *this);
        return offsets.defined() ? y + offsets : y;
    }
    auto y = at::empty({x.size(0), rows()}, x.options());
    for_each_tile([&](std::int64_t first, std::int64_t count, const at::Tensor& tile) {
        auto part = y.narrow(1, first, count);
        product_into(part, x, tile.t());
    });
    return offsets.defined() ? y.add_(offsets) : y;
}

at::Tensor& weight_matrix::apply_onto(at::Tensor& sum, const at::Tensor& x) const {
    if (!blocks_) return product_onto(sum, x, numbers_.t());
    if (is_recorded(x) || is_recorded(sum)) return sum.add_(apply(x));
    for_each_tile([&](std::int64_t first, std::int64_t count, const at::Tensor& tile) {
        auto part = sum.narrow(1, first, count);
        product_onto(part, x, tile.t());
    });
    return sum;
}

at::Tensor weight_matrix::pull_back(const at::Tensor& g) const {
    if (!blocks_) return product(g, numbers_);
    auto out = at::empty({g.size(0), columns()}, g.options());
    pull_back_into(out, g);
    return out;
}

void weight_matrix::pull_back_into(at::Tensor& out, const at::Tensor& g) const {
    if (!blocks_) return product_into(out, g, numbers_);
    for_each_tile([&](std::int64_t first, std::int64_t count, const at::Tensor& tile) {
        if (first == 0)
            product_into(out, g.narrow(1, first, count), tile);
        else
            product_onto(out, g.narrow(1, first, count), tile);
    });
}

void weight_matrix::pull_back_onto(at::Tensor& sum, const at::Tensor& g) const {
    if (!blocks_) {
        product_onto(sum, g, numbers_);
        return;
    }
    for_each_tile([&](std::int64_t first, std::int64_t count, const at::Tensor& tile) {
        product_onto(sum, g.narrow(1, first, count), tile);
    });
}

at::Tensor weight_matrix::look_up(const at::Tensor& ids) const {
    require(blocks_ && rows_ == blocks_->rows, "rows of numbers, or of a part of blocks, are looked up");
    const auto flat = ids.reshape(-1).contiguous();
    auto out = at::empty({flat.size(0), columns()}, at::kFloat);
    blocks_->read_rows_of({flat.data_ptr<std::int64_t>(), static_cast<std::size_t>(flat.size(0))},
                          out.data_ptr<float>());
    auto shape = ids.sizes().vec();
    shape.push_back(columns());
    return out.to(type_).view(shape);
}

void weight_matrix::read_rows(std::int64_t first, std::int64_t count, float* out) const {
    if (blocks_) return blocks_->read_rows(first_row_ + first, count, out);
    at::from_blob(out, {count, columns()}, at::kFloat).copy_(numbers_.narrow(0, first, count));
}

}  // namespace rldp::models
