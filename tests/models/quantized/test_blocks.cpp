// Formats of blocks: against what the packages gguf 0.19 and bitsandbytes 0.50 make of the same bytes and numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "models/quantized/half.hpp"
#include "models/quantized/quantize.hpp"
#include "models/quantized/quantized_tensor.hpp"
#include "tests/models/quantized/known.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::models;
using namespace rldp::test;

namespace {

/// Bytes of a format, their float16 scales finite, and what they stand for.
struct known_blocks {
    block_type type;
    std::uint64_t numbers;  ///< digest
    float first, middle, last;
    std::vector<int> scales;
};

const std::vector<known_blocks> known_rows = {
    {block_type::f16, 0x698de58776376eac, -0.00019097328F, -2.8133392e-05F, 0.0003607273F, {}},
    {block_type::bf16, 0x860bc2886ee6ac61, -9.34076e-33F, -7.934587e-38F, 1.4359734e-30F, {}},
    {block_type::q4_0, 0x25062819fca4e310, -0.0F, -0.15037537F, 0.023452759F, {0}},
    {block_type::q4_1, 0xdc127fda5766fb87, -0.262146F, 0.016693115F, -0.061538696F, {0, 2}},
    {block_type::q5_0, 0x5c32c5b631b87184, 0.19555664F, -0.06677246F, -0.062561035F, {0}},
    {block_type::q5_1, 0x2b245bbf476f3d87, -0.091033936F, -0.7373657F, -0.11828613F, {0, 2}},
    {block_type::q8_0, 0x5b6e4eb01c11d92c, 2.9333496F, -1.5931549F, -2.5856934F, {0}},
    {block_type::q4_k, 0x195ecc3d3ddae28d, -1.65802F, -2.2565308F, -10.752594F, {0, 2}},
    {block_type::q5_k, 0xf840a23903671284, -4.346924F, -41.025635F, 15.543549F, {0, 2}},
    {block_type::q6_k, 0x363658d7bd317ef4, 17.63095F, 34.580612F, 0.0F, {208}}};

std::vector<std::uint8_t> make_blocks(const known_blocks& of, int count) {
    made_up from(58);
    const auto size = format_of(of.type).bytes;
    std::vector<std::uint8_t> out;
    for (int block = 0; block < count; ++block) {
        const auto begin = out.size();
        for (std::int64_t i = 0; i < size; ++i) out.push_back(from.byte());
        if (size == 2) out[begin + 1] &= 0xbf;
        for (const auto scale : of.scales) {
            auto& upper = out[begin + static_cast<std::size_t>(scale) + 1];
            upper = static_cast<std::uint8_t>((upper & 0x83) | 0x24);
        }
    }
    return out;
}

/// [128, 640], with a large row and a block of zeros.
std::vector<float> make_matrix() {
    auto out = make_numbers(std::size_t{128} * 640, 9);
    for (std::size_t i = 3 * 640; i < 4 * 640; ++i) out[i] *= 8;
    std::fill_n(out.begin() + std::ptrdiff_t{5} * 640, 64, 0.0F);
    return out;
}

std::vector<float> read_all(const quantized_tensor& from) {
    std::vector<float> out(static_cast<std::size_t>(from.rows * from.columns));
    from.read_rows(0, from.rows, out.data());
    return out;
}

quantized_tensor quantize_all(block_type type, const std::vector<float>& numbers, std::int64_t columns) {
    return quantize_matrix(type, static_cast<std::int64_t>(numbers.size()) / columns, columns,
                           [&](std::int64_t row) { return numbers.data() + row * columns; });
}

}  // namespace

TEST_CASE("blocks of ggml are read to the bit as by gguf 0.19") {
    for (const auto& known : known_rows) {
        INFO(name_of(known.type));
        const auto& format = format_of(known.type);
        const auto count = format.elements == 1 ? 256 : 16;
        const auto bytes = make_blocks(known, count);
        const auto numbers = read_all(make_quantized(known.type, 1, count * format.elements, {}, bytes));
        CHECK(numbers.front() == known.first);
        CHECK(numbers[37] == known.middle);
        CHECK(numbers.back() == known.last);
        CHECK(digest(numbers) == known.numbers);
    }
}

TEST_CASE("float32 is quantized to the bit as by gguf 0.19") {
    auto numbers = make_numbers(1024, 7);
    std::fill_n(numbers.begin() + 32, 32, 0.0F);
    for (std::size_t i = 64; i < 96; ++i) numbers[i] *= 0x1p-20F;  // a float16 scale that is subnormal
    numbers[128] = -3;                                             // of two of one size the first counts
    numbers[129] = 3;
    const std::vector<std::pair<block_type, std::uint64_t>> known = {{block_type::f16, 0xa9397599aa33962f},
                                                                     {block_type::bf16, 0xe23960d2068358d7},
                                                                     {block_type::q4_0, 0xb6a7cca2969b6f9a},
                                                                     {block_type::q4_1, 0xc1ec04b1f9c7de52},
                                                                     {block_type::q8_0, 0x4d70fd5c4875e9fe}};
    for (const auto& [type, blocks] : known) {
        INFO(name_of(type));
        CHECK(digest(quantize_all(type, numbers, 1024).bytes) == blocks);
    }
}

TEST_CASE("nf4 and int8 are made and read to the bit as by bitsandbytes 0.50") {
    const auto matrix = make_matrix();
    const auto single = quantize_all(block_type::nf4_single, matrix, 640);
    CHECK(digest(single.bytes) == 0x86786fabc50f5a22);
    CHECK(digest(read_all(single)) == 0x943fca00db9d5a0f);

    const auto nested = quantize_all(block_type::nf4, matrix, 640);
    CHECK(nested.scales->offset == 0.25936213F);
    CHECK(nested.scales->absmax ==
          std::vector<float>{1.7387625F, 0.030353546F, 0.03387049F, 0.028507233F, 0.029288232F});
    CHECK(digest(nested.bytes) == 0x606069a33371ce62);
    CHECK(digest(read_all(nested)) == 0xa98d380ed92ff51b);

    const auto whole_rows = quantize_all(block_type::int8, matrix, 640);
    CHECK(digest(whole_rows.bytes) == 0xdb162d926dd810c7);
    CHECK(digest(read_all(whole_rows)) == 0x0dbe133c27bd0e57);

    CHECK(digest(dynamic_map()) == 0xd677f22a96665bc4);
    CHECK(std::is_sorted(dynamic_map().begin(), dynamic_map().end()));
}

TEST_CASE("a row is read alone as among others, and a gather is rows") {
    const auto matrix = make_matrix();
    for (const auto type : {block_type::f32, block_type::f16, block_type::bf16, block_type::q4_0, block_type::q4_1,
                            block_type::q8_0, block_type::nf4, block_type::nf4_single, block_type::int8}) {
        INFO(name_of(type));
        const auto quantized = quantize_all(type, matrix, 640);
        const auto all = read_all(quantized);
        const std::vector<std::int64_t> ids = {127, 0, 5, 5, 64};
        std::vector<float> gathered(ids.size() * 640), tile(std::size_t{3} * 640);
        quantized.read_rows_of(ids, gathered.data());
        for (std::size_t i = 0; i < ids.size(); ++i)
            CHECK(std::equal(gathered.begin() + static_cast<std::ptrdiff_t>(i) * 640,
                             gathered.begin() + static_cast<std::ptrdiff_t>(i + 1) * 640, all.begin() + ids[i] * 640));
        quantized.read_rows(70, 3, tile.data());
        CHECK(std::equal(tile.begin(), tile.end(), all.begin() + std::ptrdiff_t{70} * 640));
        CHECK(quantized.all_finite());
    }
}

TEST_CASE("what is quantized is as near as the format's steps allow") {
    const auto matrix = make_matrix();
    struct step {
        block_type type;
        double part;  ///< of the largest number of a block, the largest error
        std::size_t block;
    };
    // Half a step, and what rounds the scale; nf4's widest gap is from -1 to -0.696; its scales are known to 1/100.
    const std::vector<step> steps = {{block_type::f16, 0x1p-11, 640}, {block_type::bf16, 0x1p-8, 640},
                                     {block_type::q4_0, 0.126, 32},   {block_type::q4_1, 0.0685, 32},
                                     {block_type::q8_0, 0.0045, 32},  {block_type::nf4_single, 0.1521, 64},
                                     {block_type::nf4, 0.17, 64},     {block_type::int8, 0.00394, 640}};
    for (const auto& [type, part, block] : steps) {
        INFO(name_of(type));
        const auto read = read_all(quantize_all(type, matrix, 640));
        double worst = 0;
        for (std::size_t begin = std::size_t{6} * 640; begin < matrix.size(); begin += block) {
            double largest = 0, error = 0;
            for (auto i = begin; i < begin + block; ++i) {
                largest = std::max(largest, static_cast<double>(std::abs(matrix[i])));
                error = std::max(error, static_cast<double>(std::abs(matrix[i] - read[i])));
            }
            if (largest > 0) worst = std::max(worst, error / largest);
        }
        CHECK(worst <= part);
        CHECK(worst > part / 4);
    }
}

TEST_CASE("what is read is quantized again to the same numbers") {
    const auto matrix = make_matrix();
    for (const auto type : {block_type::f16, block_type::bf16, block_type::nf4_single}) {
        INFO(name_of(type));
        const auto once = read_all(quantize_all(type, matrix, 640));
        CHECK(read_all(quantize_all(type, once, 640)) == once);
    }
}

TEST_CASE("every float16 is read and written as itself, and rounding is to even") {
    for (std::uint32_t half = 0; half < 0x10000; ++half) {
        const auto bits = static_cast<std::uint16_t>(half);
        const float number = from_half(bits);
        const int exponent = static_cast<int>(half >> 10 & 31), mantissa = static_cast<int>(half & 1023);
        if (exponent == 31) {
            CHECK((mantissa == 0 ? std::isinf(number) : std::isnan(number)));
            if (mantissa == 0) CHECK(to_half(number) == bits);
            continue;
        }
        const double size = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
        REQUIRE(number == static_cast<float>(half >> 15 != 0 ? -size : size));
        REQUIRE(to_half(number) == bits);
    }
    CHECK(to_half(65519.996F) == 0x7bff);
    CHECK(to_half(65520) == 0x7c00);
    CHECK(to_half(1 + 0x1p-11F) == 0x3c00);
    CHECK(to_half(1 + 3 * 0x1p-11F) == 0x3c02);
    CHECK(to_half(0x1p-25F) == 0);
    CHECK(to_half(0x1.8p-25F) == 1);
    CHECK(to_bfloat(1 + 0x1p-8F) == 0x3f80);
    CHECK(to_bfloat(1 + 3 * 0x1p-8F) == 0x3f82);
    CHECK(std::isnan(from_bfloat(to_bfloat(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("a matrix with NaN or infinity is told from a finite one") {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
        auto matrix = make_matrix();
        CHECK(quantize_all(block_type::f32, matrix, 640).all_finite());
        matrix.back() = bad;
        CHECK_FALSE(quantize_all(block_type::f32, matrix, 640).all_finite());
    }
}

TEST_CASE("every format has a row, and sizes follow from it") {
    for (const auto& row : names<block_type>::rows) {
        CHECK(format_of(row.value).name == row.name);
        CHECK(parse_named<block_type>(row.name) == row.value);
    }
    CHECK(count_row_bytes(block_type::q4_1, 576) == 360);
    CHECK(count_row_bytes(block_type::nf4, 576) == 297);
    CHECK(count_row_bytes(block_type::int8, 577) == 581);
    CHECK(fills_blocks(block_type::q6_k, 512));
    CHECK_FALSE(fills_blocks(block_type::q6_k, 576));
    CHECK_FALSE(fills_blocks(block_type::int8, 0));
    // 7.24 billion numbers of Mistral-7B, embedding and head among them: 3.5 GiB.
    const auto nf4 = quantize_all(block_type::nf4, make_numbers(1 << 20, 1), 4096);
    CHECK(static_cast<double>(nf4.count_bytes()) / (1 << 20) < 0.517);
}

TEST_CASE("a wrong size is a bug, not a read beyond") {
    const std::vector<std::uint8_t> bytes(18);
    CHECK_THROWS_AS(make_quantized(block_type::q4_0, 2, 32, {}, bytes), error);
    CHECK_THROWS_AS(make_quantized(block_type::q4_0, 1, 16, {}, bytes), error);
    CHECK_THROWS_AS(make_quantized(block_type::nf4, 1, 64, {}, std::vector<std::uint8_t>(33)), error);
    const auto one = make_quantized(block_type::q4_0, 1, 32, {}, bytes);
    std::vector<float> out(64);
    CHECK_THROWS_AS(one.read_rows(0, 2, out.data()), error);
    CHECK_THROWS_AS(one.read_rows_of(std::vector<std::int64_t>{-1}, out.data()), error);
    CHECK_THROWS_AS(quantize_all(block_type::q5_0, out, 64), error);
}
