// sgemm of several libraries on the shapes of a step, each shape alone. Prints the least milliseconds per library, and
// their sums over a step's products. Libraries are taken as they are installed; each one's own threads are set by
// OMP_NUM_THREADS.
//
//   OMP_NUM_THREADS=2 build/bench/bench_products /usr/lib/x86_64-linux-gnu/blis-openmp/libblis.so.4
#include <dlfcn.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace {

/// [rows, inner]·[inner, columns], the right one stored in columns where it is turned; so many of them in a step.
struct shape {
    const char* model;
    const char* name;
    int rows, inner, columns;
    bool turned;
    int in_a_step;
};

// GPT-2 small: 4 x 128 tokens; stories260K: 16 x 256; Llama 1B: 1 x 256, blocks only. d: the gradient of the input.
constexpr shape shapes[] = {
    {"gpt2-small", "qkv", 512, 768, 2304, false, 12},
    {"gpt2-small", "o", 512, 768, 768, false, 12},
    {"gpt2-small", "fc", 512, 768, 3072, false, 12},
    {"gpt2-small", "proj", 512, 3072, 768, false, 12},
    {"gpt2-small", "head", 508, 768, 50257, true, 1},
    {"gpt2-small", "d qkv", 512, 2304, 768, true, 12},
    {"gpt2-small", "d o", 512, 768, 768, true, 12},
    {"gpt2-small", "d fc", 512, 3072, 768, true, 12},
    {"gpt2-small", "d proj", 512, 768, 3072, true, 12},
    {"gpt2-small", "d head", 508, 50257, 768, false, 1},
    {"stories260k", "q, o", 4096, 64, 64, true, 10},
    {"stories260k", "k, v", 4096, 64, 32, true, 10},
    {"stories260k", "gate, up", 4096, 64, 172, true, 10},
    {"stories260k", "down", 4096, 172, 64, true, 5},
    {"stories260k", "head", 4080, 64, 512, true, 1},
    {"stories260k", "d q, o", 4096, 64, 64, false, 10},
    {"stories260k", "d k, v", 4096, 32, 64, false, 10},
    {"stories260k", "d gate, up", 4096, 172, 64, false, 10},
    {"stories260k", "d down", 4096, 64, 172, false, 5},
    {"stories260k", "d head", 4080, 512, 64, false, 1},
    {"llama-3.2-1b", "q, o", 256, 2048, 2048, true, 32},
    {"llama-3.2-1b", "k, v", 256, 2048, 512, true, 32},
    {"llama-3.2-1b", "gate, up", 256, 2048, 8192, true, 32},
    {"llama-3.2-1b", "down", 256, 8192, 2048, true, 16},
    {"llama-3.2-1b", "d q, o", 256, 2048, 2048, false, 32},
    {"llama-3.2-1b", "d k, v", 256, 512, 2048, false, 32},
    {"llama-3.2-1b", "d gate, up", 256, 8192, 2048, false, 32},
    {"llama-3.2-1b", "d down", 256, 2048, 8192, false, 16},
    {"rank 8, gpt2-small", "x A", 512, 768, 8, true, 24},
    {"rank 8, gpt2-small", "h B", 512, 8, 768, true, 24},
    {"rank 8, gpt2-small", "g B", 512, 768, 8, false, 24},
    {"rank 8, gpt2-small", "d A", 512, 8, 768, false, 24},
    {"rank 8, llama-3.2-1b", "x A", 256, 2048, 8, true, 32},
    {"rank 8, llama-3.2-1b", "h B", 256, 8, 2048, true, 32},
    {"rank 8, llama-3.2-1b", "g B", 256, 2048, 8, false, 32},
    {"rank 8, llama-3.2-1b", "d A", 256, 8, 2048, false, 32},
    {"rank 8, stories260k", "x A", 4096, 64, 8, true, 10},
    {"rank 8, stories260k", "h B", 4096, 8, 64, true, 10},
    {"rank 8, stories260k", "g B", 4096, 64, 8, false, 10},
    {"rank 8, stories260k", "d A", 4096, 8, 64, false, 10},
    {"one token, gpt2-small", "head", 1, 768, 50257, true, 1},
};

using cblas = void (*)(int order, int turn_a, int turn_b, int rows, int columns, int inner, float alpha, const float* a,
                       int a_stride, const float* b, int b_stride, float beta, float* out, int out_stride);
using onednn = int (*)(char turn_a, char turn_b, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                       float alpha, const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
                       float beta, float* out, std::int64_t out_stride);

template <class Work>
double least_milliseconds(int calls, Work work) {
    double least = 1e300;
    for (int i = 0; i < calls; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        least = std::min(least,
                         std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    return least;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App program("Products of the shapes of a step, by one library's sgemm");
    std::string library;
    program.add_option("library", library, "shared library with cblas_sgemm or dnnl_sgemm")->required();
    CLI11_PARSE(program, argc, argv);
    void* const loaded = ::dlopen(library.c_str(), RTLD_NOW);
    if (!loaded) return fmt::print(stderr, "bench_products: {}\n", ::dlerror()), 1;
    const auto by_onednn = reinterpret_cast<onednn>(::dlsym(loaded, "dnnl_sgemm"));
    const auto by_cblas = reinterpret_cast<cblas>(::dlsym(loaded, "cblas_sgemm"));
    if (!by_onednn && !by_cblas)
        return fmt::print(stderr, "bench_products: {}: neither cblas_sgemm nor dnnl_sgemm\n", library), 1;

    std::map<std::string, double> sums;
    for (const auto& s : shapes) {
        const auto numbers = [](int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); };
        const std::vector<float> a(numbers(s.rows, s.inner), 0.5F), b(numbers(s.inner, s.columns), 0.25F);
        std::vector<float> out(numbers(s.rows, s.columns));
        const int stride = s.turned ? s.inner : s.columns;
        const double flop = 2.0 * s.rows * s.inner * s.columns;
        const double took = least_milliseconds(std::clamp(static_cast<int>(3e9 / flop), 6, 400), [&] {
            if (by_onednn)
                by_onednn('N', s.turned ? 'T' : 'N', s.rows, s.columns, s.inner, 1, a.data(), s.inner, b.data(), stride,
                          0, out.data(), s.columns);
            else
                by_cblas(101, 111, s.turned ? 112 : 111, s.rows, s.columns, s.inner, 1, a.data(), s.inner, b.data(),
                         stride, 0, out.data(), s.columns);  // in rows; turned is 112
        });
        sums[s.model] += took * s.in_a_step;
        fmt::print("{:<22} {:<11} {:>10.3f} ms\n", s.model, s.name, took);
    }
    for (const auto& [model, sum] : sums) fmt::print("{:<22} {:<11} {:>10.1f} ms\n", model, "a step", sum);
}
