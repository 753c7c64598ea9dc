// sgemm of several libraries on the shapes of a step, each shape alone. Prints the least milliseconds per library, and
// their sums over a step's products. Libraries are taken as they are installed; each one's own threads are set by
// OMP_NUM_THREADS.
//
//   OMP_NUM_THREADS=2 build/bench/bench_products /usr/lib/x86_64-linux-gnu/blis-openmp/libblis.so.4
//   OMP_NUM_THREADS=1 build/bench/bench_products libdnnl.so.2 --company 16
#include <dlfcn.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <random>
#include <stdexcept>
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

std::size_t area(int a, int b) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

/// One library's sgemm.
class library {
  public:
    explicit library(const std::string& path) {
        void* const loaded = ::dlopen(path.c_str(), RTLD_NOW);
        if (!loaded) throw std::runtime_error(::dlerror());
        by_onednn_ = reinterpret_cast<onednn>(::dlsym(loaded, "dnnl_sgemm"));
        by_cblas_ = reinterpret_cast<cblas>(::dlsym(loaded, "cblas_sgemm"));
        if (!by_onednn_ && !by_cblas_) throw std::runtime_error(path + ": neither cblas_sgemm nor dnnl_sgemm");
    }
    /// The first `rows` rows of a times b.
    void multiply(const shape& s, int rows, const float* a, const float* b, float* out) const {
        const int stride = s.turned ? s.inner : s.columns;
        if (by_onednn_)
            by_onednn_('N', s.turned ? 'T' : 'N', rows, s.columns, s.inner, 1, a, s.inner, b, stride, 0, out,
                       s.columns);
        else
            by_cblas_(101, 111, s.turned ? 112 : 111, rows, s.columns, s.inner, 1, a, s.inner, b, stride, 0, out,
                      s.columns);  // in rows; turned is 112
    }

  private:
    onednn by_onednn_ = nullptr;
    cblas by_cblas_ = nullptr;
};

void time_products(const library& with) {
    std::map<std::string, double> sums;
    for (const auto& s : shapes) {
        const std::vector<float> a(area(s.rows, s.inner), 0.5F), b(area(s.inner, s.columns), 0.25F);
        std::vector<float> out(area(s.rows, s.columns));
        const double flop = 2.0 * s.rows * s.inner * s.columns;
        const double took = least_milliseconds(std::clamp(static_cast<int>(3e9 / flop), 6, 400),
                                               [&] { with.multiply(s, s.rows, a.data(), b.data(), out.data()); });
        sums[s.model] += took * s.in_a_step;
        fmt::print("{:<22} {:<11} {:>10.3f} ms\n", s.model, s.name, took);
    }
    for (const auto& [model, sum] : sums) fmt::print("{:<22} {:<11} {:>10.1f} ms\n", model, "a step", sum);
}

/// Whether units of 1 to 140 rows get the same bits alone and below each other, each beginning at a multiple of `align`
/// rows and taking up as many.
void compare_company(const library& with, int align) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const auto made = [&](std::size_t count) {
        std::vector<float> out(count);
        for (auto& each : out) each = normal(random);
        return out;
    };
    for (const bool turned : {false, true}) {
        int units = 0, other = 0;
        for (const auto& s : shapes) {
            if (s.turned != turned || area(s.inner, s.columns) > (std::size_t{1} << 23)) continue;
            const auto b = made(area(s.inner, s.columns));
            for (int draw = 0; draw < 12; ++draw) {
                std::vector<int> begins{0};
                for (auto more = 1 + random() % 6; more > 0; --more) {
                    const int rows = 1 + static_cast<int>(random() % (draw % 4 == 0 ? 20 : 140));
                    begins.push_back(begins.back() + (rows + align - 1) / align * align);
                }
                const auto a = made(area(begins.back(), s.inner));
                std::vector<float> all(area(begins.back(), s.columns)), alone(all.size());
                with.multiply(s, begins.back(), a.data(), b.data(), all.data());
                for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
                    const int rows = begins[i + 1] - begins[i];
                    with.multiply(s, rows, a.data() + area(begins[i], s.inner), b.data(), alone.data());
                    ++units;
                    other +=
                        std::equal(alone.begin(), alone.begin() + static_cast<std::ptrdiff_t>(area(rows, s.columns)),
                                   all.begin() + static_cast<std::ptrdiff_t>(area(begins[i], s.columns)))
                            ? 0
                            : 1;
                }
            }
        }
        fmt::print("units at multiples of {} rows, right matrix {}: {} of {} have other bits in company\n", align,
                   turned ? "turned" : "as it is", other, units);
    }
}

int run(int argc, char** argv) {
    CLI::App program("Products of the shapes of a step, by one library's sgemm");
    std::string path;
    int align = 0;
    program.add_option("library", path, "shared library with cblas_sgemm or dnnl_sgemm")->required();
    program
        .add_option("--company", align,
                    "instead of times: bits alone and in company, units at multiples of so many rows")
        ->check(CLI::PositiveNumber);
    CLI11_PARSE(program, argc, argv);
    const library with(path);
    align > 0 ? compare_company(with, align) : time_products(with);
    return 0;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const std::exception& e) {
    std::fputs((std::string("bench_products: ") + e.what() + "\n").c_str(), stderr);
    return 1;
}
