#include "models/kernels/decoding.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.hpp"

namespace rldp::models {

namespace decoding_kernels {

#define RLDP_KERNEL_FILE "models/kernels/decoding_kernel.hpp"
#include "models/kernels/each_instruction_set.hpp"

struct kernel {
    std::int64_t lanes;
    decltype(&baseline::add_panel) add_panel;
    decltype(&baseline::attend_head) attend;
    decltype(&baseline::activate) activate;
};

const kernel& chosen() {
    static const kernel it = [] {
#ifdef RLDP_KERNELS_OF_X86
        if (__builtin_cpu_supports("x86-64-v4"))
            return kernel{avx512::lanes, avx512::add_panel, avx512::attend_head, avx512::activate};
        if (__builtin_cpu_supports("x86-64-v3"))
            return kernel{avx2::lanes, avx2::add_panel, avx2::attend_head, avx2::activate};
#endif
        return kernel{baseline::lanes, baseline::add_panel, baseline::attend_head, baseline::activate};
    }();
    return it;
}

}  // namespace decoding_kernels

namespace {

std::int64_t panel_rows() {
    return 2 * decoding_kernels::chosen().lanes;
}

}  // namespace

panel_matrix::panel_matrix(std::int64_t rows, std::int64_t columns, row_reader read, bool held)
    : rows_(rows), columns_(columns), read_(std::move(read)) {
    require(rows > 0 && columns > 0, "a matrix of nothing");
    if (!held) return;
    panels_ = at::empty({stride(), columns_}, at::kFloat);
    for (std::int64_t panel = 0; panel * panel_rows() < rows_; ++panel)
        read_panel(panel, panels_.data_ptr<float>() + panel * panel_rows() * columns_);
    read_ = {};
}

std::int64_t panel_matrix::stride() const {
    const auto width = panel_rows();
    return (rows_ + width - 1) / width * width;
}

void panel_matrix::read_panel(std::int64_t panel, float* out) const {
    const auto width = panel_rows(), first = panel * width, count = std::min(width, rows_ - first);
    const auto numbers = at::empty({count, columns_}, at::kFloat);
    auto* const from = numbers.data_ptr<float>();
    read_(first, count, from);
    for (std::int64_t i = 0; i < columns_; ++i) {
        for (std::int64_t r = 0; r < count; ++r) out[i * width + r] = from[r * columns_ + i];
        std::fill(out + i * width + count, out + (i + 1) * width, 0.0F);
    }
}

void panel_matrix::add_product(const float* x, std::int64_t x_stride, std::int64_t count, float* y) const {
    const auto width = panel_rows(), y_stride = stride();
    // So many rows at a time stay in a cache beside a panel.
    constexpr std::int64_t rows_at_a_time = 96;
    const bool held = panels_.defined();
    if (held && count > rows_at_a_time) {
        for (std::int64_t row = 0; row < count; row += rows_at_a_time)
            add_product(x + row * x_stride, x_stride, std::min(rows_at_a_time, count - row), y + row * y_stride);
        return;
    }
    const auto memory = held ? panels_ : at::empty({width, columns_}, at::kFloat);
    auto* const floats = memory.data_ptr<float>();
    for (std::int64_t panel = 0; panel * width < rows_; ++panel) {
        if (!held) read_panel(panel, floats);
        decoding_kernels::chosen().add_panel(x, x_stride, count, held ? floats + panel * width * columns_ : floats,
                                             columns_, y + panel * width, y_stride);
    }
}

std::int64_t count_value_stride(std::int64_t head_width) {
    const auto lanes = decoding_kernels::chosen().lanes;
    return (head_width + lanes - 1) / lanes * lanes;
}

void attend_decoded(const decoded_head& head, const float* q, float* out, float* scratch) {
    decoding_kernels::chosen().attend(head, q, out, scratch);
}

void activate(decoded_activation how, const float* x, const float* by, std::int64_t count, float* out) {
    if (how != decoded_activation::gelu_erf) return decoding_kernels::chosen().activate(how, x, by, count, out);
    for (std::int64_t i = 0; i < count; ++i) {
        const float y = 0.5F * x[i] * (1 + std::erf(x[i] / std::numbers::sqrt2_v<float>));
        out[i] = by != nullptr ? y * by[i] : y;
    }
}

void normalise(const float* x, const float* gain, const float* offset, float epsilon, std::int64_t width, float* out) {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < width; ++i) sum += x[i];
    const double mean = sum / static_cast<double>(width);
    for (std::int64_t i = 0; i < width; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const auto scale = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(width) + epsilon));
    for (std::int64_t i = 0; i < width; ++i) out[i] = (x[i] - static_cast<float>(mean)) * scale * gain[i] + offset[i];
}

}  // namespace rldp::models
