// Blocks of every format, of any bytes: each row is read, and what is finite is quantized again. The first byte names
// the format, the second the blocks of a row.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/quantized/quantize.hpp"
#include "models/quantized/quantized_tensor.hpp"
#include "tests/fuzz/reading.hpp"

using namespace rldp;
using namespace rldp::models;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < 2) return 0;
    const auto& format = names<block_type>::rows[bytes[0] % std::size(names<block_type>::rows)];
    const auto columns = std::max<std::int64_t>(format.elements, 1) * (bytes[1] % 8 + 1);
    const auto row_bytes = count_row_bytes(format.value, columns);
    const auto rows = static_cast<std::int64_t>(size - 2) / row_bytes;
    if (rows == 0) return 0;
    std::shared_ptr<nested_scales> scales;
    if (format.value == block_type::nf4) {
        scales = std::make_shared<nested_scales>(nested_scales{dynamic_map(), {}, 0.5F});
        scales->absmax.resize(static_cast<std::size_t>(rows * columns / 64 + 255) / 256, 0.25F);
    }
    const auto matrix = make_quantized(format.value, rows, columns, {},
                                       {bytes + 2, static_cast<std::size_t>(rows * row_bytes)}, scales);
    std::vector<float> numbers(static_cast<std::size_t>(rows * columns));
    matrix.read_rows(0, rows, numbers.data());
    const auto largest = largest_quantizable(format.value);
    const bool fits = std::all_of(numbers.begin(), numbers.end(),
                                  [&](float x) { return std::isfinite(x) && std::abs(x) <= largest; });
    fuzz::require(!fits || matrix.all_finite(), "finite numbers are taken for others");
    if (!fits || !format.is_quantizable) return 0;
    const auto again =
        quantize_matrix(format.value, rows, columns, [&](std::int64_t row) { return numbers.data() + row * columns; });
    fuzz::require(again.bytes.size() == matrix.bytes.size(), "a matrix of another size came back");
    fuzz::require(again.all_finite(), "finite numbers became others");
    return 0;
}
