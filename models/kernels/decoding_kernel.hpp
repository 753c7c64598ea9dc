// Products, attention and activations of texts that grow token by token. decoding.cpp includes it once for each
// instruction set, with the namespace RLDP_KERNEL and RLDP_LANES floats to a register.

namespace RLDP_KERNEL {

#include "models/kernels/lanes.hpp"

// Where rows begin at any float.
using loose_vec = float __attribute__((vector_size(4 * lanes), may_alias, aligned(4)));
RLDP_INLINE loose_vec& loose_at(float* p) {
    return *reinterpret_cast<loose_vec*>(p);
}
RLDP_INLINE const loose_vec& loose_at(const float* p) {
    return *reinterpret_cast<const loose_vec*>(p);
}

inline constexpr int rows_of_a_tile = lanes == 16 ? 8 : 6;  // with two registers of sums to a row

// y += x·panel for R rows: each sum goes over k in order, whatever the other rows are.
template <int R>
RLDP_INLINE void add_tile(const float* x, std::int64_t x_stride, const float* panel, std::int64_t k, float* y,
                          std::int64_t y_stride) {
    vec sums[R][2];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
        sums[r][0] = loose_at(y + r * y_stride);
        sums[r][1] = loose_at(y + r * y_stride + lanes);
    }
    for (std::int64_t i = 0; i < k; ++i) {
        const vec first = lanes_at(panel + i * 2 * lanes), second = lanes_at(panel + i * 2 * lanes + lanes);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            const float factor = x[r * x_stride + i];
            sums[r][0] += factor * first;
            sums[r][1] += factor * second;
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
        loose_at(y + r * y_stride) = sums[r][0];
        loose_at(y + r * y_stride + lanes) = sums[r][1];
    }
}

template <int R>
inline void add_last(std::int64_t rows, const float* x, std::int64_t x_stride, const float* panel, std::int64_t k,
                     float* y, std::int64_t y_stride) {
    if constexpr (R > 0) {
        if (rows == R) return add_tile<R>(x, x_stride, panel, k, y, y_stride);
        add_last<R - 1>(rows, x, x_stride, panel, k, y, y_stride);
    }
}

inline void add_panel(const float* x, std::int64_t x_stride, std::int64_t rows, const float* panel, std::int64_t k,
                      float* y, std::int64_t y_stride) {
    std::int64_t row = 0;
    for (; row + rows_of_a_tile <= rows; row += rows_of_a_tile)
        add_tile<rows_of_a_tile>(x + row * x_stride, x_stride, panel, k, y + row * y_stride, y_stride);
    add_last<rows_of_a_tile - 1>(rows - row, x + row * x_stride, x_stride, panel, k, y + row * y_stride, y_stride);
}

// Scores of a page's keys: what is behind those that are there is unknown.
RLDP_INLINE void score_page(const float* q, std::int64_t d, const float* keys, float scale, float* scores) {
    constexpr int parts = page_keys / lanes;
    vec sums[parts];
#pragma GCC unroll 8
    for (vec& sum : sums) sum = vec{};
    for (std::int64_t c = 0; c < d; ++c) {
        const float factor = q[c];
#pragma GCC unroll 8
        for (int part = 0; part < parts; ++part) sums[part] += factor * lanes_at(keys + c * page_keys + part * lanes);
    }
#pragma GCC unroll 8
    for (int part = 0; part < parts; ++part) lanes_at(scores + part * lanes) = scale * sums[part];
}

// out [N·lanes] = Σ weights·values over all pages, several keys at a time where N is small.
template <int N>
RLDP_INLINE void weigh_values(const decoded_head& h, std::int64_t column, const float* weights, float factor,
                              float* out) {
    constexpr int at_once = N >= 4 ? 1 : 4 / N;
    vec sums[at_once][N];
#pragma GCC unroll 8
    for (auto& each : sums)
        for (vec& sum : each) sum = vec{};
    for (const auto& page : h.pages) {
        const float* values = page.floats + h.values + column;
        for (std::int64_t j = 0; j < page.keys; j += at_once)
#pragma GCC unroll 8
            for (int u = 0; u < at_once; ++u) {
                const float weight = weights[j + u];
#pragma GCC unroll 8
                for (int n = 0; n < N; ++n)
                    sums[u][n] += weight * lanes_at(values + (j + u) * h.value_stride + n * lanes);
            }
        weights += page_keys;
    }
    for (int n = 0; n < N; ++n) {
        vec sum = sums[0][n];
#pragma GCC unroll 8
        for (int u = 1; u < at_once; ++u) sum += sums[u][n];
        lanes_at(out + n * lanes) = factor * sum;
    }
}

// One query's attention; `scratch` has room for a number per key of all pages and for a row of values.
inline void attend_head(const decoded_head& h, const float* q, float* out, float* scratch) {
    constexpr float hidden = -std::numeric_limits<float>::infinity();
    const auto pages = std::ssize(h.pages);
    float highest = hidden;
    std::int64_t before = 0;  // keys of earlier pages
    for (std::int64_t p = 0; p < pages; ++p) {
        const auto& page = h.pages[static_cast<std::size_t>(p)];
        float* scores = scratch + p * page_keys;
        score_page(q, h.width, page.floats + h.keys, h.scale, scores);
        if (h.cap > 0)
            for (std::int64_t j = 0; j < page.keys; ++j) scores[j] = h.cap * std::tanh(scores[j] / h.cap);
        for (std::int64_t j = page.keys; j < page_keys; ++j) scores[j] = hidden;
        for (std::int64_t j = 0; j < std::min(page.keys, h.first_seen - before); ++j) scores[j] = hidden;
        vec most = lanes_at(scores);
        for (std::int64_t j = lanes; j < page_keys; j += lanes) {
            const vec other = lanes_at(scores + j);
            most = other > most ? other : most;
        }
        for (std::int64_t j = 0; j < lanes; ++j) highest = most[j] > highest ? most[j] : highest;
        before += page.keys;
    }
    vec sums{};
    for (std::int64_t j = 0; j < pages * page_keys; j += lanes) {
        vec value = lanes_at(scratch + j) - highest;
        to_exponential(value);
        lanes_at(scratch + j) = value;
        sums += value;
    }
    const float factor = 1 / compute_sum(sums);
    float* row = scratch + pages * page_keys;
    std::int64_t column = 0;
    for (; column + 8 * lanes <= h.value_stride; column += 8 * lanes)
        weigh_values<8>(h, column, scratch, factor, row + column);
    for (; column + 2 * lanes <= h.value_stride; column += 2 * lanes)
        weigh_values<2>(h, column, scratch, factor, row + column);
    for (; column < h.value_stride; column += lanes) weigh_values<1>(h, column, scratch, factor, row + column);
    std::copy(row, row + h.width, out);
}

// x / (1 + e^-x)
RLDP_INLINE vec compute_silu(const vec& x) {
    vec small = x < 0.0F ? x : -x;
    to_exponential(small);
    return x * (x < 0.0F ? small : vec{} + 1.0F) / (1.0F + small);
}

// x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) / 2
RLDP_INLINE vec compute_gelu(const vec& x) {
    const vec u = 0.7978845608F * (x + 0.044715F * x * x * x);
    vec small = u < 0.0F ? 2.0F * u : -2.0F * u;
    to_exponential(small);
    const vec size = (1.0F - small) / (1.0F + small);
    return 0.5F * x * (1.0F + (u < 0.0F ? -size : size));
}

inline void activate(decoded_activation how, const float* x, const float* by, std::int64_t count, float* out) {
    for (std::int64_t i = 0; i < count; i += lanes) {
        const auto there = std::min(lanes, count - i);
        float part[3][lanes] = {};
        const bool whole_one = there == lanes;
        if (!whole_one) {
            std::copy(x + i, x + i + there, part[0]);
            if (by) std::copy(by + i, by + i + there, part[1]);
        }
        const vec in = loose_at(whole_one ? x + i : part[0]);
        vec y = how == decoded_activation::silu ? compute_silu(in) : compute_gelu(in);
        if (by) y *= loose_at(whole_one ? by + i : part[1]);
        loose_at(whole_one ? out + i : part[2]) = y;
        if (!whole_one) std::copy(part[2], part[2] + there, out + i);
    }
}

#undef RLDP_INLINE

}  // namespace RLDP_KERNEL

#undef RLDP_KERNEL
#undef RLDP_LANES
