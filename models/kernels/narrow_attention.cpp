#include "models/kernels/narrow_attention.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rldp::models {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Four queries at a time, which share what they load.
constexpr std::int64_t tile = 4;

// One key/value head of one unit and the queries of its group; strides in floats.
struct head {
    std::int64_t length, padded, group, window, query_stride, key_stride;
    float scale;
    const float *keys, *values;  // [d, padded], zero behind the length
};

#define RLDP_KERNEL_FILE "models/kernels/narrow_attention_kernel.hpp"
#include "models/kernels/each_instruction_set.hpp"

struct kernel {
    decltype(&baseline::dispatch_forward) forward;
    decltype(&baseline::dispatch_backward) backward;
};

const kernel& chosen() {
    static const kernel it = [] {
#ifdef RLDP_KERNELS_OF_X86
        if (__builtin_cpu_supports("x86-64-v4")) return kernel{avx512::dispatch_forward, avx512::dispatch_backward};
        if (__builtin_cpu_supports("x86-64-v3")) return kernel{avx2::dispatch_forward, avx2::dispatch_backward};
#endif
        return kernel{baseline::dispatch_forward, baseline::dispatch_backward};
    }();
    return it;
}

// What a thread works in, made once: keys and values with the keys side by side, their gradients, and the rows'
// weights.
struct workspace {
    std::int64_t d, padded;
    at::Tensor memory;
    float *keys, *values, *d_keys, *d_values, *weights;

    workspace(std::int64_t head_width, std::int64_t length)
        : d(head_width),
          padded((length + tile) / 16 * 16 + 16),
          memory(at::empty({4 * head_width + tile, padded}, at::kFloat)) {
        auto* next = memory.data_ptr<float>();
        for (float** part : {&keys, &values, &d_keys, &d_values}) {
            *part = next;
            next += d * padded;
        }
        weights = next;
    }

    void turn(const float* from, std::int64_t stride, std::int64_t length, float* to) const {
        for (std::int64_t c = 0; c < d; ++c) {
            for (std::int64_t j = 0; j < length; ++j) to[c * padded + j] = from[j * stride + c];
            std::fill(to + c * padded + length, to + (c + 1) * padded, 0.0F);
        }
    }
    void turn_back(const float* from, std::int64_t stride, std::int64_t length, float* to) const {
        for (std::int64_t j = 0; j < length; ++j)
            for (std::int64_t c = 0; c < d; ++c) to[j * stride + c] = from[c * padded + j];
    }
};

// Calls `body` for each key/value head of each unit: its workspace, its head, and where it begins in q, in k and in
// log_sums.
template <typename F>
void for_each_head(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, std::int64_t window, double scale,
                   const F& body) {
    const std::int64_t length = q.size(1), d = q.size(3), kv_heads = k.size(2), group = q.size(2) / kv_heads;
    const std::int64_t query_stride = q.size(2) * d, key_stride = kv_heads * d;
    const auto *keys = k.data_ptr<float>(), *values = v.data_ptr<float>();
    // Fewer products are not worth another thread.
    constexpr std::int64_t products_of_a_thread = std::int64_t{1} << 18;
    const auto heads_of_a_thread = products_of_a_thread / (length * length * d * group + 1) + 1;
    at::parallel_for(0, q.size(0) * kv_heads, heads_of_a_thread, [&](std::int64_t begin, std::int64_t end) {
        const workspace own(d, length);
        for (std::int64_t at = begin; at < end; ++at) {
            const std::int64_t unit = at / kv_heads, which = at % kv_heads;
            const std::int64_t key = unit * length * key_stride + which * d;
            own.turn(keys + key, key_stride, length, own.keys);
            own.turn(values + key, key_stride, length, own.values);
            const head h{length,   own.padded, group, window, query_stride, key_stride, static_cast<float>(scale),
                         own.keys, own.values};
            body(own, h, unit * length * query_stride + which * group * d, key, at * group * length);
        }
    });
}

struct narrow_function : torch::autograd::Function<narrow_function> {
    static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q_in, const at::Tensor& k_in,
                              const at::Tensor& v_in, std::int64_t window, double scale) {
        const auto q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous();
        auto out = at::empty_like(q), log_sums = at::empty({q.size(0), q.size(2), q.size(1)}, q.options());
        const auto* from = q.data_ptr<float>();
        auto *to = out.data_ptr<float>(), *sums = log_sums.data_ptr<float>();
        for_each_head(q, k, v, window, scale,
                      [&](const workspace& own, const head& h, std::int64_t at, std::int64_t, std::int64_t row) {
                          chosen().forward(static_cast<int>(own.d), h, from + at, to + at, sums + row, own.weights);
                      });
        ctx->save_for_backward({q, k, v, out, log_sums});
        ctx->saved_data["window"] = window;
        ctx->saved_data["scale"] = scale;
        return out;
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const auto saved = ctx->get_saved_variables();
        const auto &q = saved[0], &k = saved[1], &v = saved[2], &out = saved[3], &log_sums = saved[4];
        const auto d_out = gradients[0].contiguous();
        auto d_q = at::empty_like(q), d_k = at::empty_like(k), d_v = at::empty_like(v);
        const auto *query = q.data_ptr<float>(), *result = out.data_ptr<float>(), *gradient = d_out.data_ptr<float>();
        const auto* sums = log_sums.data_ptr<float>();
        auto *to_q = d_q.data_ptr<float>(), *to_k = d_k.data_ptr<float>(), *to_v = d_v.data_ptr<float>();
        for_each_head(q, k, v, ctx->saved_data["window"].toInt(), ctx->saved_data["scale"].toDouble(),
                      [&](const workspace& own, const head& h, std::int64_t at, std::int64_t key, std::int64_t row) {
                          std::fill(own.d_keys, own.d_keys + own.d * own.padded, 0.0F);
                          std::fill(own.d_values, own.d_values + own.d * own.padded, 0.0F);
                          chosen().backward(static_cast<int>(own.d), h, query + at, result + at, gradient + at,
                                            sums + row, to_q + at, own.d_keys, own.d_values, own.weights);
                          own.turn_back(own.d_keys, h.key_stride, h.length, to_k + key);
                          own.turn_back(own.d_values, h.key_stride, h.length, to_v + key);
                      });
        return {d_q, d_k, d_v, {}, {}};
    }
};

}  // namespace

bool is_narrow(const at::Tensor& q) {
    return q.device().is_cpu() && q.scalar_type() == at::kFloat && q.size(3) % 8 == 0 && q.size(3) <= 32;
}

at::Tensor attend_narrow(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         std::optional<std::int64_t> window, double scale) {
    return narrow_function::apply(q, k, v, window.value_or(q.size(1)), scale);
}

}  // namespace rldp::models
