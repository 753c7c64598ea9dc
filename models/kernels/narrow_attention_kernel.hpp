// Attention of one narrow head, forward and backward. narrow_attention.cpp includes it once for each instruction set,
// with the namespace RLDP_KERNEL and RLDP_LANES floats to a register.

namespace RLDP_KERNEL {

#include "models/kernels/lanes.hpp"

// Keys that some of the rows from `first` on see, in whole registers.
struct span {
    std::int64_t begin, end;
};
RLDP_INLINE span seen_from(const head& h, std::int64_t first) {
    const std::int64_t oldest = std::max<std::int64_t>(0, first - h.window + 1);
    return {oldest / lanes * lanes, (first + tile - 1) / lanes * lanes + lanes};
}

// scores[r] of `lanes` keys from j on; -inf where the query does not see the key.
template <int D>
RLDP_INLINE void scores_at(const head& h, const float (&q)[tile][D], std::int64_t first, std::int64_t j,
                           vec (&scores)[tile]) {
    for (vec& score : scores) score = vec{};
    for (int d = 0; d < D; ++d) {
        const vec key = lanes_at(h.keys + d * h.padded + j);
        for (std::int64_t r = 0; r < tile; ++r) scores[r] += q[r][d] * key;
    }
    if (j + lanes - 1 <= first && j > first + tile - 1 - h.window) return;
    whole key;
    for (std::int64_t c = 0; c < lanes; ++c) key[c] = static_cast<std::int32_t>(j + c);
    for (std::int64_t r = 0; r < tile; ++r) {
        const auto query = static_cast<std::int32_t>(first + r);
        const auto oldest = static_cast<std::int32_t>(std::max<std::int64_t>(0, first + r - h.window + 1));
        scores[r] = ((key > query) | (key < oldest)) ? vec{} - std::numeric_limits<float>::infinity() : scores[r];
    }
}

template <int D>
RLDP_INLINE void load_rows(const float* from, std::int64_t stride, std::int64_t count, float scale,
                           float (&to)[tile][D]) {
    for (std::int64_t r = 0; r < tile; ++r)
        for (int d = 0; d < D; ++d) to[r][d] = r < count ? scale * from[r * stride + d] : 0.0F;
}

// sums[d] over the keys of `at` of weights · x[d], four coordinates at a time.
template <int D>
RLDP_INLINE void weighted(const float* weights, const float* x, std::int64_t padded, span at, float factor,
                          float* sums) {
    for (int d = 0; d < D; d += 4) {
        vec sum[4] = {};
        for (std::int64_t j = at.begin; j < at.end; j += lanes)
            for (int c = 0; c < 4; ++c) sum[c] += lanes_at(weights + j) * lanes_at(x + (d + c) * padded + j);
        for (int c = 0; c < 4; ++c) sums[d + c] = factor * compute_sum(sum[c]);
    }
}

// `weights` is scratch [rows, padded]; q and out [length, query_stride]; log_sums [group, length].
template <int D>
RLDP_INLINE void forward(const head& h, const float* q, float* out, float* log_sums, float* weights) {
    for (std::int64_t g = 0; g < h.group; ++g) {
        for (std::int64_t first = 0; first < h.length; first += tile) {
            const std::int64_t count = std::min(tile, h.length - first);
            const span at = seen_from(h, first);
            float query[tile][D];
            load_rows<D>(q + first * h.query_stride + g * D, h.query_stride, count, h.scale, query);
            vec most[tile];
            for (vec& x : most) x = vec{} - std::numeric_limits<float>::infinity();
            for (std::int64_t j = at.begin; j < at.end; j += lanes) {
                vec scores[tile];
                scores_at<D>(h, query, first, j, scores);
                for (std::int64_t r = 0; r < tile; ++r) {
                    lanes_at(weights + r * h.padded + j) = scores[r];
                    most[r] = scores[r] > most[r] ? scores[r] : most[r];
                }
            }
            for (std::int64_t r = 0; r < count; ++r) {
                float* row = weights + r * h.padded;
                float highest = most[r][0];
                for (std::int64_t k = 1; k < lanes; ++k) highest = most[r][k] > highest ? most[r][k] : highest;
                vec sums{};
                for (std::int64_t j = at.begin; j < at.end; j += lanes) {
                    vec value = lanes_at(row + j) - highest;
                    to_exponential(value);
                    lanes_at(row + j) = value;
                    sums += value;
                }
                const float sum = compute_sum(sums);
                weighted<D>(row, h.values, h.padded, at, 1 / sum, out + (first + r) * h.query_stride + g * D);
                log_sums[g * h.length + first + r] = highest + std::log(sum);
            }
        }
    }
}

// Adds to d_keys and d_values [d, padded], whose keys are of unscaled queries; writes d_q [length, query_stride].
template <int D>
RLDP_INLINE void backward(const head& h, const float* q, const float* out, const float* d_out, const float* log_sums,
                          float* d_q, float* d_keys, float* d_values, float* scratch) {
    for (std::int64_t g = 0; g < h.group; ++g) {
        for (std::int64_t first = 0; first < h.length; first += tile) {
            const std::int64_t count = std::min(tile, h.length - first), offset = first * h.query_stride + g * D;
            const span at = seen_from(h, first);
            float query[tile][D], gradient[tile][D], inner[tile] = {}, log_sum[tile] = {};
            load_rows<D>(q + offset, h.query_stride, count, h.scale, query);
            load_rows<D>(d_out + offset, h.query_stride, count, 1, gradient);
            for (std::int64_t r = 0; r < count; ++r) {
                log_sum[r] = log_sums[g * h.length + first + r];
                for (int d = 0; d < D; ++d) inner[r] += gradient[r][d] * out[offset + r * h.query_stride + d];
            }
            for (std::int64_t j = at.begin; j < at.end; j += lanes) {
                vec weights[tile], d_scores[tile];
                scores_at<D>(h, query, first, j, weights);
                for (vec& x : d_scores) x = vec{};
                for (int d = 0; d < D; ++d) {
                    const vec value = lanes_at(h.values + d * h.padded + j);
                    for (std::int64_t r = 0; r < tile; ++r) d_scores[r] += gradient[r][d] * value;
                }
                for (std::int64_t r = 0; r < tile; ++r) {
                    weights[r] -= log_sum[r];
                    to_exponential(weights[r]);
                    d_scores[r] = weights[r] * (d_scores[r] - inner[r]);
                    lanes_at(scratch + r * h.padded + j) = d_scores[r];
                }
                for (int d = 0; d < D; ++d) {
                    vec& d_value = lanes_at(d_values + d * h.padded + j);
                    vec& d_key = lanes_at(d_keys + d * h.padded + j);
                    vec value = d_value, key = d_key;
                    for (std::int64_t r = 0; r < tile; ++r) {
                        value += weights[r] * gradient[r][d];
                        key += d_scores[r] * query[r][d];
                    }
                    d_value = value;
                    d_key = key;
                }
            }
            for (std::int64_t r = 0; r < count; ++r)
                weighted<D>(scratch + r * h.padded, h.keys, h.padded, at, h.scale, d_q + offset + r * h.query_stride);
        }
    }
}

inline void dispatch_forward(int d, const head& h, const float* q, float* out, float* log_sums, float* weights) {
    switch (d) {
        case 8:
            return forward<8>(h, q, out, log_sums, weights);
        case 16:
            return forward<16>(h, q, out, log_sums, weights);
        case 24:
            return forward<24>(h, q, out, log_sums, weights);
        default:
            return forward<32>(h, q, out, log_sums, weights);
    }
}

inline void dispatch_backward(int d, const head& h, const float* q, const float* out, const float* d_out,
                              const float* log_sums, float* d_q, float* d_keys, float* d_values, float* scratch) {
    switch (d) {
        case 8:
            return backward<8>(h, q, out, d_out, log_sums, d_q, d_keys, d_values, scratch);
        case 16:
            return backward<16>(h, q, out, d_out, log_sums, d_q, d_keys, d_values, scratch);
        case 24:
            return backward<24>(h, q, out, d_out, log_sums, d_q, d_keys, d_values, scratch);
        default:
            return backward<32>(h, q, out, d_out, log_sums, d_q, d_keys, d_values, scratch);
    }
}

#undef RLDP_INLINE

}  // namespace RLDP_KERNEL

#undef RLDP_KERNEL
#undef RLDP_LANES
