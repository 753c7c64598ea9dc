#include "models/lora/subspace.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "config/base/require.hpp"

namespace rldp::models {

namespace {

/// Gives every pair its place in the flat vector, by the sizes of its parts.
void place(lora_layout& layout) {
    layout.dimension = 0;
    for (auto& pair : layout.pairs) {
        pair.offset = layout.dimension;
        layout.dimension += pair.size;
    }
}

at::Tensor square_of(std::int64_t size) {
    return at::zeros({size, size}, at::kFloat);
}

/// Gradients are clipped and noised as Wᵀg, and a step x moves the weights by W·x: W·Wᵀ is the inverse of the second
/// moment on one side, which is K-FAC's preconditioner (Martens and Grosse 2015) of a LoRA factor.
constexpr double power = -0.5;
constexpr double damping = 1e-3;  ///< of the mean second moment: no direction is stretched without bound

at::Tensor largest_of(const at::Tensor& moment, std::optional<std::int64_t> count, bool scaled, at::Device on) {
    if (!moment.defined()) return {};
    const auto [values, vectors] = at::linalg_eigh(moment);  // ascending: the last columns are the largest's
    const auto size = moment.size(1), kept = count.value_or(size);
    auto along = vectors.narrow(1, size - kept, kept);
    if (scaled) {
        const auto all = values.clamp_min(0);
        const auto scales = (all + damping * all.mean()).narrow(0, size - kept, kept).clamp_min(1e-30).pow(power);
        along = along * (scales / scales.square().mean().sqrt());
    }
    return along.contiguous().to(on);
}

}  // namespace

lora_layout in_subspace(const lora_layout& layout, const at::Tensor& flat, const std::vector<pair_directions>& along) {
    const at::NoGradGuard no_grad;
    lora_layout out = layout;
    out.grounds.clear();
    for (std::size_t i = 0; i < layout.pairs.size(); ++i) {
        auto& pair = out.pairs[i];
        const bool frozen = pair.a_size == 0;
        out.grounds.push_back(
            {layout.a(flat, i).clone(), layout.b(flat, i).clone(), frozen ? at::Tensor() : along[i].in, along[i].out});
        pair.a_size = frozen ? 0 : layout.config.rank * along[i].in.size(1);
        pair.size = pair.a_size + layout.config.rank * along[i].out.size(1);
    }
    place(out);
    return out;
}

std::int64_t most_directions(const lora_pair& pair) {
    return pair.a_size > 0 ? std::min(pair.d_in, pair.d_out) : pair.d_out;
}

lora_layout narrowed(lora_layout layout, std::int64_t count) {
    for (auto& pair : layout.pairs) {
        pair.a_size = pair.a_size > 0 ? layout.config.rank * count : 0;
        pair.size = pair.a_size + layout.config.rank * count;
    }
    place(layout);
    return layout;
}

loaded_adapter without_grounds(const lora_layout& layout, const at::Tensor& flat) {
    if (layout.grounds.empty()) return {layout, flat};
    loaded_adapter out{layout, {}};
    out.layout.config.frozen_a_seed.reset();
    out.layout.grounds.clear();
    std::vector<at::Tensor> parts;
    for (std::size_t i = 0; i < layout.pairs.size(); ++i) {
        auto& pair = out.layout.pairs[i];
        pair.a_size = layout.config.rank * pair.d_in;
        pair.size = layout.config.rank * (pair.d_in + pair.d_out);
        parts.push_back(layout.a(flat, i).flatten());
        parts.push_back(layout.b(flat, i).flatten());
    }
    place(out.layout);
    out.flat = at::cat(parts);
    return out;
}

main_directions::main_directions(const lora_layout& layout) : layout_(layout) {
    for (const auto& pair : layout_.pairs)
        moments_.push_back({pair.a_size > 0 ? square_of(pair.d_in) : at::Tensor(), square_of(pair.d_out)});
}

void main_directions::add(const at::Tensor& unit_gradients) {
    const at::NoGradGuard no_grad;
    const auto rank = layout_.config.rank;
    for (std::size_t i = 0; i < moments_.size(); ++i) {
        const auto& pair = layout_.pairs[i];
        const auto own = unit_gradients.narrow(1, pair.offset, pair.size);
        if (pair.a_size > 0) {
            const auto rows = own.narrow(1, 0, pair.a_size).reshape({-1, pair.d_in});
            moments_[i].in += rows.t().mm(rows).cpu();
        }
        const auto b = own.narrow(1, pair.a_size, pair.size - pair.a_size).reshape({-1, pair.d_out, rank});
        const auto columns = b.transpose(1, 2).reshape({-1, pair.d_out});
        moments_[i].out += columns.t().mm(columns).cpu();
    }
}

std::vector<pair_directions> main_directions::largest(std::optional<std::int64_t> count, bool scaled,
                                                      at::Device on) const {
    std::vector<pair_directions> out;
    for (std::size_t i = 0; i < moments_.size(); ++i) {
        require(!count || *count <= most_directions(layout_.pairs[i]), "more directions than a matrix has");
        out.push_back({largest_of(moments_[i].in, count, scaled, on), largest_of(moments_[i].out, count, scaled, on)});
    }
    return out;
}

}  // namespace rldp::models
