#pragma once
// Texts that grow token by token, on the CPU in float32: products of few rows, attention of one query over what its
// text holds, activations. What comes of a row depends on no other row, to the bit: LibTorch's products do not promise
// that.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>

namespace rldp::models {

/// W [rows, columns] as decoding multiplies by it: rows side by side in panels, `k` columns after each other.
class panel_matrix {
  public:
    /// Rows [first, first + count) of W as numbers, [count, columns].
    using row_reader = std::function<void(std::int64_t first, std::int64_t count, float* out)>;
    panel_matrix() = default;
    /// Panels are made once where they are `held`, else with each product: the same numbers.
    panel_matrix(std::int64_t rows, std::int64_t columns, row_reader read, bool held);

    std::int64_t rows() const { return rows_; }
    std::int64_t columns() const { return columns_; }
    /// Floats from one row of y to the next: rows() and what fills the last panel.
    std::int64_t stride() const;
    /// y [count, stride()] += x·Wᵀ for x [count, x_stride], on the calling thread alone.
    void add_product(const float* x, std::int64_t x_stride, std::int64_t count, float* y) const;

  private:
    void read_panel(std::int64_t panel, float* out) const;

    std::int64_t rows_ = 0, columns_ = 0;
    row_reader read_;
    at::Tensor panels_;  ///< where they are held
};

/// Keys and values lie in pages of so many tokens, keys by coordinate, values by token.
inline constexpr std::int64_t page_keys = 32;
/// Floats from one token's value to the next.
std::int64_t count_value_stride(std::int64_t head_width);

struct decoded_page {
    const float* floats = nullptr;
    std::int64_t keys = 0;  ///< that are there and seen
};

/// One head of one query, and what it sees.
struct decoded_head {
    std::int64_t width, value_stride;
    float scale, cap;           ///< no cap: 0
    std::int64_t keys, values;  ///< where the head's lie in each page
    std::int64_t first_seen;    ///< keys before are hidden
    std::span<const decoded_page> pages;
};

/// out [width] for q [width]. `scratch` on a line of the cache: page_keys numbers per page and a value's stride.
void attend_decoded(const decoded_head& head, const float* q, float* out, float* scratch);

enum class decoded_activation : std::uint8_t { silu, gelu_tanh, gelu_erf };
/// out = activation(x)·by, `by` where it is given.
void activate(decoded_activation how, const float* x, const float* by, std::int64_t count, float* out);

/// out = (x - mean)·gain / √(variance + epsilon) + offset.
void normalise(const float* x, const float* gain, const float* offset, float epsilon, std::int64_t width, float* out);

}  // namespace rldp::models
