// Gigabytes of float32 a second that one core reads out of blocks, and makes blocks of, beside a plain copy and the
// widening of bfloat16. Prints JSON; ratios are to bfloat16, what a frozen base of half precision is read at.
//
//   build/bench/bench_blocks --rows 1024 --columns 4096 --repeats 9
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.hpp"
#include "bench/child.hpp"
#include "models/quantized/quantized_tensor.hpp"

namespace {

using namespace rldp;
using namespace rldp::models;

template <class Work>
double least_seconds(int repeats, const Work& work) {
    std::vector<double> spans;
    for (int i = 0; i < repeats; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        spans.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return bench::least(spans);
}

/// Quantized, where that can be done; else bytes that make finite numbers.
quantized_tensor make_matrix(const block_format& format, std::int64_t rows, std::int64_t columns,
                             const std::vector<float>& numbers) {
    if (format.is_quantizable)
        return quantize_matrix(format.value, rows, columns,
                               [&](std::int64_t row) { return numbers.data() + row * columns; });
    auto made = make_bytes(rows * count_row_bytes(format.value, columns));
    std::fill(made.bytes.begin(), made.bytes.end(), std::uint8_t{0x2a});
    return make_quantized(format.value, rows, columns, made.owner, made.bytes);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App program("Gigabytes of float32 a second read out of blocks on one core, as JSON");
    std::int64_t rows = 1024, columns = 4096, tile = 64;
    int repeats = 9;
    program.add_option("--rows", rows)->check(CLI::Range(1, 1 << 20))->capture_default_str();
    program.add_option("--columns", columns, "a multiple of 256")
        ->check(CLI::Range(256, 1 << 20))
        ->capture_default_str();
    program.add_option("--tile", tile, "rows that are read at a time")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    program.add_option("--repeats", repeats, "the least time of them counts")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    CLI11_PARSE(program, argc, argv);
    try {
        refuse_unless(columns % 256 == 0, "--columns must be a multiple of 256");
        std::vector<float> numbers(static_cast<std::size_t>(rows * columns)),
            out(static_cast<std::size_t>(tile * columns));
        std::mt19937 random(1);
        std::normal_distribution<float> normal(0, 0.02F);
        for (float& number : numbers) number = normal(random);
        const double gigabytes = static_cast<double>(rows * columns) * sizeof(float) / 1e9;
        std::map<std::string, double> seconds;
        nlohmann::ordered_json answer = {{"rows", rows}, {"columns", columns}, {"tile", tile}};
        for (const auto& format : names<block_type>::rows) {
            const auto matrix = make_matrix(format, rows, columns, numbers);
            const std::string name(format.name);
            seconds[name] = least_seconds(repeats, [&] {
                for (std::int64_t first = 0; first < rows; first += tile)
                    matrix.read_rows(first, std::min(tile, rows - first), out.data());
            });
            auto& row = answer["formats"][name];
            row["bytes_a_number"] = static_cast<double>(matrix.count_bytes()) / static_cast<double>(rows * columns);
            row["gigabytes_read_a_second"] = gigabytes / seconds[name];
            if (!format.is_quantizable) continue;
            row["gigabytes_quantized_a_second"] =
                gigabytes / least_seconds(1, [&] { make_matrix(format, rows, columns, numbers); });
        }
        for (auto& [name, row] : answer["formats"].items()) row["time_to_bf16"] = seconds[name] / seconds["bf16"];
        fmt::print("{}\n", answer.dump(2));
        return 0;
    } catch (const error& e) {
        fmt::print(stderr, "bench: {}\n", e.what());
        return static_cast<int>(e.code());
    }
}
