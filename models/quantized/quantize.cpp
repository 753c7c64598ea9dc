#include "models/quantized/quantize.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "models/quantized/half.hpp"

namespace rldp::models {

namespace {

constexpr std::int64_t per_small_block = 32, per_nf4_block = 64, nf4_packed = per_nf4_block / 2;

/// 1/x, where that is a number; else 0: the float16 scale is 0 then, too.
float inverse(float x) {
    const float out = x == 0 ? 0 : 1 / x;
    return std::isfinite(out) ? out : 0;
}

/// As bits, so that the loop has no order to keep.
std::uint32_t size_bits(float number) {
    return std::bit_cast<std::uint32_t>(number) & 0x7fffffffU;
}

float greatest_size(const float* numbers, std::int64_t count) {
    std::uint32_t out = 0;
    for (std::int64_t i = 0; i < count; ++i) out = std::max(out, size_bits(numbers[i]));
    return std::bit_cast<float>(out);
}

void pack_halves(const std::uint8_t* q, std::uint8_t* out) {
    for (int i = 0; i < 16; ++i) out[i] = static_cast<std::uint8_t>(q[i] | q[16 + i] << 4);
}

/// Toward 0, which is down: `scaled` is above -1 and below 17.
std::uint8_t to_nibble(float scaled) {
    return static_cast<std::uint8_t>(std::clamp(static_cast<std::int32_t>(scaled), 0, 15));
}

/// The number of largest size, the first of such, becomes -8.
void write_q4_0(const float* x, std::uint8_t* out) {
    const auto largest = size_bits(greatest_size(x, per_small_block));
    const float first = *std::find_if(x, x + per_small_block, [&](float one) { return size_bits(one) == largest; });
    const float scale = first / -8, per = inverse(scale);
    std::uint8_t q[per_small_block];
    for (int i = 0; i < per_small_block; ++i) q[i] = to_nibble(x[i] * per + 8.5F);
    write_as(to_half(scale), out);
    pack_halves(q, out + 2);
}

void write_q4_1(const float* x, std::uint8_t* out) {
    const auto [least, most] = std::minmax_element(x, x + per_small_block);
    const float scale = (*most - *least) / 15, per = inverse(scale);
    std::uint8_t q[per_small_block];
    for (int i = 0; i < per_small_block; ++i) q[i] = to_nibble((x[i] - *least) * per + 0.5F);
    write_as(to_half(scale), out);
    write_as(to_half(*least), out + 2);
    pack_halves(q, out + 4);
}

/// Halves are rounded away from 0, as ggml does.
void write_q8_0(const float* x, std::uint8_t* out) {
    const float scale = greatest_size(x, per_small_block) / 127, per = inverse(scale);
    write_as(to_half(scale), out);
    for (int i = 0; i < per_small_block; ++i)
        out[2 + i] = static_cast<std::uint8_t>(static_cast<std::int8_t>(std::round(x[i] * per)));
}

/// Halves are rounded to even, as torch does: what 1.5·2^23 added leaves of a number that is small beside it.
void write_int8(const float* x, std::int64_t columns, std::uint8_t* out) {
    constexpr float rounder = 0x1.8p23F;
    const float greatest = greatest_size(x, columns);
    const float per = std::isfinite(127.0F / greatest) ? 127.0F / greatest : 0;
    write_as(greatest, out);
    for (std::int64_t i = 0; i < columns; ++i) {
        const float whole = (x[i] * per + rounder) - rounder;
        out[4 + i] = static_cast<std::uint8_t>(static_cast<std::int8_t>(static_cast<std::int32_t>(whole)));
    }
}

/// In the middle between neighbours of a map.
template <std::size_t Count>
std::array<float, Count - 1> find_bounds(const std::array<float, Count>& map) {
    std::array<float, Count - 1> out;
    for (std::size_t i = 0; i + 1 < Count; ++i) out[i] = (map[i] + map[i + 1]) / 2;
    return out;
}

/// The number of the map that is nearest; in the middle the lower one. A search that branches would be slower for
/// NF4's.
template <std::size_t Count>
std::uint8_t find_nearest(const std::array<float, Count>& bounds, float number) {
    std::uint32_t below = 0;
    for (const float bound : bounds) below += bound < number ? 1 : 0;
    return static_cast<std::uint8_t>(below);
}

/// What numbers are multiplied by before they are looked up.
float per_scale(float greatest) {
    return 1 / std::max(greatest, 1e-38F);
}

/// Scale of 64 numbers; their codes in 32 bytes.
float write_nf4(const float* x, std::uint8_t* out) {
    static const auto bounds = find_bounds(nf4_numbers());
    const float greatest = greatest_size(x, per_nf4_block), per = per_scale(greatest);
    const auto code = [&](float number) { return find_nearest(bounds, std::clamp(number * per, -1.0F, 1.0F)); };
    for (int i = 0; i < nf4_packed; ++i) out[i] = static_cast<std::uint8_t>(code(x[2 * i]) << 4 | code(x[2 * i + 1]));
    return greatest;
}

/// The middles between `count` + 1 numbers that lie evenly from 0.1 to 1, as torch::linspace has them in float32 where
/// the processor multiplies and adds in one: rounded once.
std::vector<float> list_middles(int count) {
    constexpr float begin = 0.1F, end = 1;
    const double step = (end - begin) / static_cast<float>(count);
    const auto edge = [&](int i) {  // from the nearer end
        return static_cast<float>(i < (count + 1) / 2 ? begin + step * i : end - step * (count - i));
    };
    std::vector<float> out;
    for (int i = 0; i < count; ++i) out.push_back((edge(i) + edge(i + 1)) / 2);
    return out;
}

}  // namespace

const std::array<float, 256>& dynamic_map() {
    static const auto map = [] {
        std::vector<float> all{0, 1};
        for (int i = 0; i < 7; ++i)  // a power of ten takes an exponent's bits, the others divide it evenly
            for (const float middle : list_middles(1 << i)) {
                const auto number = static_cast<float>(std::pow(10.0, i - 6)) * middle;
                all.insert(all.end(), {number, -number});
            }
        std::sort(all.begin(), all.end());
        std::array<float, 256> out;
        std::copy(all.begin(), all.end(), out.begin());
        return out;
    }();
    return map;
}

float largest_quantizable(block_type type) {
    constexpr float greatest_half = 65504;
    switch (type) {
        case block_type::f16:
        case block_type::q4_1:  // least values and 15th parts of spans
            return greatest_half;
        case block_type::q4_0:
            return 8 * greatest_half;
        case block_type::q8_0:
            return 127 * greatest_half;
        default:
            return std::numeric_limits<float>::infinity();
    }
}

void quantize_row(block_type type, const float* row, std::int64_t columns, std::uint8_t* out) {
    require(fills_blocks(type, columns), "a row to be quantized does not fill its blocks");
    const auto& format = format_of(type);
    if (type == block_type::int8) return write_int8(row, columns, out);
    for (; columns > 0; columns -= format.elements, row += format.elements, out += format.bytes) switch (type) {
            case block_type::f32:
                write_as(*row, out);
                break;
            case block_type::f16:
                write_as(to_half(*row), out);
                break;
            case block_type::bf16:
                write_as(to_bfloat(*row), out);
                break;
            case block_type::q4_0:
                write_q4_0(row, out);
                break;
            case block_type::q4_1:
                write_q4_1(row, out);
                break;
            case block_type::q8_0:
                write_q8_0(row, out);
                break;
            case block_type::nf4_single:
                write_as(write_nf4(row, out + 4), out);
                break;
            default:
                bug("a block format that can't be written row by row");
        }
}

void nf4_writer::write_row(const float* row, std::uint8_t* out) {
    for (std::int64_t i = 0; i < columns_; i += per_nf4_block, out += 1 + nf4_packed)
        scales_.push_back(write_nf4(row + i, out + 1));
}

nested_scales nf4_writer::finish(std::uint8_t* bytes, const float* offset) {
    static const auto bounds = find_bounds(dynamic_map());
    nested_scales out{.map = dynamic_map(), .absmax = {}, .offset = 0};
    double sum = 0;
    for (const float scale : scales_) sum += scale;
    out.offset = offset != nullptr ? *offset
                 : scales_.empty() ? 0
                                   : static_cast<float>(sum / static_cast<double>(scales_.size()));
    for (float& scale : scales_) scale -= out.offset;
    const auto count = static_cast<std::int64_t>(scales_.size());
    for (std::int64_t begin = 0; begin < count; begin += nested_scales::blocks) {
        const auto end = std::min(begin + nested_scales::blocks, count);
        out.absmax.push_back(greatest_size(scales_.data() + begin, end - begin));
        const float per = per_scale(out.absmax.back());
        for (auto block = begin; block < end; ++block)
            bytes[block * (1 + nf4_packed)] =
                find_nearest(bounds, std::clamp(scales_[static_cast<std::size_t>(block)] * per, -1.0F, 1.0F));
    }
    return out;
}

}  // namespace rldp::models
