#include "models/quantized/quantized_tensor.hpp"

#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "models/quantized/quantize.hpp"

namespace rldp::models {

namespace {

const std::uint8_t* row_at(const quantized_tensor& of, std::int64_t row) {
    require(row >= 0 && row < of.rows, "a row beyond a quantized matrix is read");
    return of.bytes.data() + row * of.count_row_bytes();
}

void read_row(const quantized_tensor& of, std::int64_t row, float* out) {
    const auto* bytes = row_at(of, row);
    const auto per_row = of.scales ? of.columns / format_of(of.type).elements : 0;
    dequantize_row(of.type, bytes, of.columns, out, of.scales.get(), row * per_row);
}

}  // namespace

std::int64_t quantized_tensor::count_bytes() const {
    const auto beside = scales ? sizeof(nested_scales) + scales->absmax.size() * sizeof(float) : 0;
    return static_cast<std::int64_t>(bytes.size() + beside);
}

void quantized_tensor::read_rows(std::int64_t first, std::int64_t count, float* out) const {
    for (auto row = first; row < first + count; ++row, out += columns) read_row(*this, row, out);
}

void quantized_tensor::read_rows_of(std::span<const std::int64_t> ids, float* out) const {
    for (const auto id : ids) {
        read_row(*this, id, out);
        out += columns;
    }
}

bool quantized_tensor::all_finite() const {
    std::vector<float> numbers(static_cast<std::size_t>(columns));
    for (std::int64_t row = 0; row < rows; ++row) {
        read_row(*this, row, numbers.data());
        float sum = 0;  // of nothing but zeros, or NaN
        for (const float number : numbers) sum += number * 0;
        if (std::isnan(sum)) return false;
    }
    return true;
}

quantized_tensor make_quantized(block_type type, std::int64_t rows, std::int64_t columns,
                                std::shared_ptr<const void> owner, std::span<const std::uint8_t> bytes,
                                std::shared_ptr<const nested_scales> scales) {
    require(rows > 0 && fills_blocks(type, columns) &&
                static_cast<std::int64_t>(bytes.size()) == rows * count_row_bytes(type, columns),
            "a quantized matrix and its bytes differ in size");
    require((type == block_type::nf4) == (scales != nullptr), "nf4, and nf4 alone, has scales of scales");
    if (scales) {
        const auto blocks = rows * (columns / format_of(type).elements), group = nested_scales::blocks;
        require(static_cast<std::int64_t>(scales->absmax.size()) == (blocks + group - 1) / group,
                "a matrix in nf4 has other scales than blocks");
    }
    return {type, rows, columns, std::move(owner), bytes, std::move(scales)};
}

owned_bytes make_bytes(std::int64_t count) {
    const auto size = static_cast<std::size_t>(count);
    std::shared_ptr<std::uint8_t[]> owner(new std::uint8_t[size]);
    auto* const first = owner.get();
    return {std::move(owner), {first, size}};
}

quantized_tensor quantize_matrix(block_type type, std::int64_t rows, std::int64_t columns, const row_source& row) {
    const auto row_bytes = count_row_bytes(type, columns);
    auto made = make_bytes(rows * row_bytes);
    if (type != block_type::nf4) {
        for (std::int64_t i = 0; i < rows; ++i) quantize_row(type, row(i), columns, made.bytes.data() + i * row_bytes);
        return make_quantized(type, rows, columns, std::move(made.owner), made.bytes);
    }
    nf4_writer writer(columns);
    for (std::int64_t i = 0; i < rows; ++i) writer.write_row(row(i), made.bytes.data() + i * row_bytes);
    auto scales = std::make_shared<const nested_scales>(writer.finish(made.bytes.data()));
    return make_quantized(type, rows, columns, std::move(made.owner), made.bytes, std::move(scales));
}

}  // namespace rldp::models
