// Rows per second that a model draws of a table, and the share of what its multiplications allow. Prints JSON.
//
//   build/bench/bench_rows ../shared/data/stories260K --rows 2000 --threads 2
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "models/architecture/family.hpp"
#include "models/decoding/decoding_model.hpp"
#include "models/device.hpp"
#include "models/weights.hpp"
#include "run/synthesis/row_sampler.hpp"
#include "run/synthesis/row_walk.hpp"

namespace {

using namespace rldp;
using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point begin) {
    return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Ten columns, as of cut stones.
constexpr std::string_view stones =
    R"~({"opening": "This is a diamond.", "clause": "Its {label} is {value}.", "schema": [
    {"column": "carat", "number": [0.2, 5.01], "step": 0.01, "required": true},
    {"column": "cut", "category": ["Fair", "Good", "Very Good", "Premium", "Ideal"], "required": true},
    {"column": "color", "category": ["D", "E", "F", "G", "H", "I", "J"], "required": true},
    {"column": "clarity", "category": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"], "required": true},
    {"column": "depth", "number": [43, 79], "step": 0.1, "required": true},
    {"column": "table", "number": [43, 95], "step": 0.1, "required": true},
    {"column": "price", "integer": [300, 20000], "required": true},
    {"column": "x", "number": [0, 10.74], "step": 0.01, "required": true},
    {"column": "y", "number": [0, 58.9], "step": 0.01, "required": true},
    {"column": "z", "number": [0, 31.8], "step": 0.01, "required": true}]})~";

using floats_4 = float __attribute__((vector_size(16)));
using floats_8 = float __attribute__((vector_size(32)));
using floats_16 = float __attribute__((vector_size(64)));

/// Multiplications and additions that wait for nothing but each other, in twelve registers.
template <class Vector>
[[gnu::always_inline]] inline float multiply_vectors(std::int64_t times, float by) {
    Vector sums[12] = {};
    for (std::int64_t i = 0; i < times; ++i)
#pragma GCC unroll 12
        for (auto& sum : sums) sum = sum * by + 1e-3F;
    float all = 0;
    for (const auto& sum : sums) all += sum[0];
    return all;
}

using multiplier = float (*)(std::int64_t times, float by);
struct unit {
    multiplier work;
    int lanes;
};
float multiply_plain(std::int64_t times, float by) {
    return multiply_vectors<floats_4>(times, by);
}
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
[[gnu::target("arch=x86-64-v3"), gnu::optimize("O3")]] float multiply_8(std::int64_t times, float by) {
    return multiply_vectors<floats_8>(times, by);
}
[[gnu::target("arch=x86-64-v4"), gnu::optimize("O3")]] float multiply_16(std::int64_t times, float by) {
    return multiply_vectors<floats_16>(times, by);
}
unit find_unit() {
    if (__builtin_cpu_supports("x86-64-v4")) return {multiply_16, 16};
    if (__builtin_cpu_supports("x86-64-v3")) return {multiply_8, 8};
    return {multiply_plain, 4};
}
#else
unit find_unit() {
    return {multiply_plain, 4};
}
#endif

/// 10^9 a second of one thread, while all compute.
double measure_multiplications(int threads) {
    constexpr std::int64_t times = 30'000'000;
    const auto with = find_unit();
    std::vector<double> best(static_cast<std::size_t>(threads));
    std::atomic<float> sink = 0;
    {
        std::vector<std::jthread> all;
        for (auto& rate : best)
            all.emplace_back([&rate, &sink, with] {
                for (int i = 0; i < 3; ++i) {
                    const auto begin = clock_type::now();
                    sink = with.work(times, 0.5F);
                    rate = std::max(rate, 12e-9 * with.lanes * times / seconds_since(begin));
                }
            });
    }
    return *std::min_element(best.begin(), best.end());
}

/// Multiplications with weights, of one token, without the head.
double count_products(const models::model_config& model) {
    double out = 0;
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
        for (const auto& module : models::block_modules(model, layer))
            if (module.inside.empty()) out += static_cast<double>(module.d_in * module.d_out);
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App program("Rows per second that a model draws of a table, as JSON");
    std::string directory, adapter, file;
    std::int64_t rows = 1000, places = 64;
    int threads = 2, repeats = 3;
    program.add_option("model", directory, "directory of a base, or its GGUF file")->required();
    program.add_option("--adapter", adapter, "PEFT directory");
    program.add_option("--template", file, "with a schema; default: ten columns of cut stones");
    program.add_option("--rows", rows, "of a thread")->check(CLI::Range(1, 100'000'000))->capture_default_str();
    program.add_option("--batch", places, "rows of a thread at a time")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    program.add_option("--threads", threads, "how many")->check(CLI::Range(1, 1024))->capture_default_str();
    program.add_option("--repeats", repeats, "the best counts")->check(CLI::Range(1, 100))->capture_default_str();
    CLI11_PARSE(program, argc, argv);
    try {
        const auto described = models::read_model(directory);
        const auto words = models::tokenizer::load(directory);
        const auto plan = actors::plan_rows(
            file.empty() ? data::parse_template(std::string(stones), "stones") : data::read_template(file), {}, *words,
            described.bos, described.window);
        std::optional<models::loaded_adapter> loaded;
        const auto base = models::causal_lm::load(directory, at::kFloat, at::kCPU);
        if (!adapter.empty()) loaded = models::load_adapter(adapter, described, directory);
        const auto model =
            actors::make_row_model(std::make_shared<const models::decoding_model>(
                                       base, loaded ? &loaded->layout : nullptr, loaded ? &loaded->flat : nullptr),
                                   plan.opening);
        const auto rate = measure_multiplications(threads);
        double best = 1e300;
        actors::row_counts counts;
        for (int i = 0; i < repeats; ++i) {
            std::vector<actors::row_counts> parts(static_cast<std::size_t>(threads));
            const auto begin = clock_type::now();
            {
                std::vector<std::jthread> all;
                for (int t = 0; t < threads; ++t)
                    all.emplace_back([&, t] {
                        parts[static_cast<std::size_t>(t)] =
                            actors::make_rows(model, plan, {.seed = 1}, t * rows, rows, places).counts;
                    });
            }
            best = std::min(best, seconds_since(begin));
            counts = {};
            for (const auto& one : parts) counts += one;
        }
        const auto tokens = static_cast<double>(counts.chosen + counts.given), all = static_cast<double>(counts.rows);
        const auto length = tokens / static_cast<double>(counts.drawn);
        // Scores and sums of values: what stands before a token, on average.
        const auto seen = static_cast<double>(plan.opening.size()) + length / 2;
        const auto attention =
            2.0 * static_cast<double>(described.layers * described.heads * described.head_dim) * seen;
        const auto head = static_cast<double>(described.width * described.vocab);
        const auto products =
            tokens * (count_products(described) + attention) + static_cast<double>(counts.chosen) * head;
        const auto bound = 1e-9 * products / (rate * threads);
        fmt::print("{}\n", nlohmann::ordered_json{{"model", directory},
                                                  {"threads", threads},
                                                  {"batch", places},
                                                  {"rows_per_second", all / best},
                                                  {"tokens_per_second", tokens / best},
                                                  {"tokens_of_a_row", length},
                                                  {"chosen_of_tokens", static_cast<double>(counts.chosen) / tokens},
                                                  {"drawn_again_of_rows", static_cast<double>(counts.drawn) / all - 1},
                                                  {"million_multiplications_of_a_row", 1e-6 * products / all},
                                                  {"billion_multiplications_per_second_of_a_thread", rate},
                                                  {"rows_per_second_by_multiplications", all / bound},
                                                  {"share_of_bound", bound / best}}
                               .dump(2));
    } catch (const error& e) {
        fmt::print(stderr, "{}\n", e.what());
        return static_cast<int>(e.code());
    }
}
