#include "privacy/sanitizer.hpp"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "config/error.hpp"

namespace rldp::privacy {

namespace {

/// Elements that are held in float64 at a time: on the CPU they stay in the second-level cache.
std::int64_t block_elements(const at::Tensor& on) {
    return on.is_cuda() ? std::int64_t{1} << 25 : std::int64_t{1} << 16;
}

/// Adds Gaussian noise and rounds to the public grid s·2⁻²⁰: beyond it the low bits of a double could tell about the
/// sum. `stream` must not have been used.
template <class T>
void noise_and_round(const double* sum, T* out, std::int64_t count, double deviation, random_stream& stream) {
    const double grid = deviation * 0x1p-20;
    std::array<double, 4096> noise;
    for (std::int64_t at = 0; at < count; at += std::ssize(noise)) {
        const auto n = static_cast<std::size_t>(std::min<std::int64_t>(count - at, std::ssize(noise)));
        stream.normals(std::span(noise).first(n));
        for (std::size_t j = 0; j < n; ++j) {
            const double noised = sum[at + static_cast<std::int64_t>(j)] + deviation * noise[j];
            out[at + static_cast<std::int64_t>(j)] = static_cast<T>(std::nearbyint(noised / grid) * grid);
        }
    }
}

}  // namespace

group_norms_result group_norms(const at::Tensor& gradients, const std::vector<std::int64_t>& sizes) {
    const torch::NoGradGuard no_grad;
    const auto units = gradients.size(0);
    const auto norms =
        torch::zeros({units, static_cast<std::int64_t>(sizes.size())}, gradients.options().dtype(at::kDouble));
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        auto squares = norms.select(1, static_cast<std::int64_t>(i));
        const auto group = gradients.narrow(1, offset, sizes[i]);
        const auto columns = std::max<std::int64_t>(1, block_elements(gradients) / std::max<std::int64_t>(units, 1));
        for (std::int64_t at = 0; at < sizes[i]; at += columns) {
            const auto block = group.narrow(1, at, std::min(columns, sizes[i] - at));
            squares += at::linalg_vector_norm(block, 2, at::IntArrayRef{1}, false, at::kDouble).square_();
        }
        offset += sizes[i];
    }
    norms.sqrt_();
    // Squares of finite floats can't overflow a double: a norm is finite exactly where the row is.
    const auto finite = norms.isfinite().all(1);
    return {norms.masked_fill(finite.logical_not().unsqueeze(1), 0), finite};
}

at::Tensor clip_factors(const at::Tensor& norms, const std::vector<double>& radii) {
    const auto limits = torch::tensor(radii, torch::kFloat64).to(norms.device());
    const auto ratios = limits / (norms + 1e-6);
    return at::where(ratios < 1, ratios * (1 - 1e-9), at::ones_like(ratios));
}

sanitizer::sanitizer(sanitizer_config config, run_key key) : config_(std::move(config)), key_(std::move(key)) {
    const auto& sizes = config_.group_sizes;
    if (sizes.empty() || std::any_of(sizes.begin(), sizes.end(), [](auto d) { return d < 1; })) {
        refuse("sanitizer: at least one group is needed, and none may be empty");
    }
    split_noise(1, config_.statistics_share);  // refuses a share out of range
    coordinates_ = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

void sanitizer::begin(const step_order& order) {
    const std::size_t n = config_.group_sizes.size();
    if (order.seq <= last_seq_) throw error(errc::failed, "sanitizer: a ledger seq must be new at every step");
    if (config_.as_published) {
        // s_i = σ·C_i is what `proportional` gives for z_g = σ/√n, the multiplier that really results.
        split_ = split_noise(order.noise_multiplier / std::sqrt(static_cast<double>(n)), 0);
        deviations_ = noise_standard_deviations(allocation::proportional, split_.gradient_multiplier, order.radii,
                                                config_.group_sizes, {});
    } else {
        split_ = split_noise(order.noise_multiplier, config_.statistics_share);
        deviations_ = noise_standard_deviations(config_.how, split_.gradient_multiplier, order.radii,
                                                config_.group_sizes, order.shares);
    }
    const bool measured = std::isfinite(split_.statistics_multiplier);
    if (measured && order.frame.trackers.size() != n) refuse("sanitizer: one quantile tracker per group is needed");
    order_ = order;
    last_seq_ = order.seq;
    open_ = true;
    sum_ = at::Tensor();
    statistics_sum_.assign(measured ? 3 * n + 5 : 0, 0.0);
    raw_norms_.clear();
    raw_losses_.clear();
}

void sanitizer::add(const unit_gradients& batch) {
    const torch::NoGradGuard no_grad;
    auto gradients = batch.gradients;
    auto losses = batch.losses;
    if (!open_) throw error(errc::failed, "sanitizer: no step was begun");
    if (gradients.dim() != 2 || gradients.size(1) != coordinates_ || losses.numel() != gradients.size(0)) {
        throw error(errc::failed, "sanitizer: gradients must be [units, coordinates] and losses [units]");
    }
    auto [norms, finite] = group_norms(gradients, config_.group_sizes);
    losses = losses.to(torch::kCPU, torch::kFloat64).reshape({-1});
    if (!finite.all().item<bool>()) {
        const auto whole = finite.nonzero().squeeze(1);
        gradients = gradients.index_select(0, whole);
        norms = norms.index_select(0, whole);
        losses = losses.index_select(0, whole.to(torch::kCPU));
    }
    if (gradients.size(0) == 0) return;
    clip_into_sum(gradients, norms);
    norms = norms.to(torch::kCPU);
    if (!statistics_sum_.empty()) {
        const auto more = statistics_sum(norms, losses, order_.frame);
        std::transform(more.begin(), more.end(), statistics_sum_.begin(), statistics_sum_.begin(), std::plus<>());
    }
    if (config_.as_published) {
        raw_norms_.push_back(norms);
        raw_losses_.push_back(losses);
    }
}

void sanitizer::clip_into_sum(const at::Tensor& gradients, const at::Tensor& norms) {
    if (!sum_.defined()) sum_ = torch::zeros({coordinates_}, gradients.options().dtype(at::kDouble));
    const auto factors = clip_factors(norms, order_.radii).t().contiguous();  // [n, b]
    const auto columns = std::max<std::int64_t>(1, block_elements(gradients) / gradients.size(0));
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < config_.group_sizes.size(); ++i) {
        const auto factor = factors[static_cast<std::int64_t>(i)];
        const auto end = offset + config_.group_sizes[i];
        for (std::int64_t at = offset; at < end; at += columns) {
            const auto width = std::min(columns, end - at);
            sum_.narrow(0, at, width).addmv_(gradients.narrow(1, at, width).to(at::kDouble).t(), factor);
        }
        offset = end;
    }
}

release sanitizer::finish() {
    const torch::NoGradGuard no_grad;
    if (!open_) throw error(errc::failed, "sanitizer: no step was begun");
    open_ = false;
    const auto sum = sum_.defined() ? sum_.to(torch::kCPU) : torch::zeros({coordinates_}, torch::kFloat64);
    const auto gradient = torch::empty({coordinates_}, torch::kFloat32);
    const auto& sizes = config_.group_sizes;
    std::vector<std::int64_t> offsets(sizes.size(), 0);
    std::partial_sum(sizes.begin(), sizes.end() - 1, offsets.begin() + 1);
    // A stream per group: the numbers don't depend on the number of threads.
    at::parallel_for(0, std::ssize(sizes), 1, [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
            random_stream stream(key_, purpose::noise, order_.seq, i);
            noise_and_round(sum.data_ptr<double>() + offsets[i], gradient.data_ptr<float>() + offsets[i], sizes[i],
                            deviations_[i], stream);
        }
    });
    release out{order_.seq, order_.step, order_.noise_multiplier, gradient, {}, {}};
    if (!statistics_sum_.empty()) {
        const double sensitivity = weights_for(sizes.size()).sensitivity(sizes.size());
        random_stream stream(key_, purpose::noise, order_.seq, sizes.size());
        out.statistics.resize(statistics_sum_.size());
        noise_and_round(statistics_sum_.data(), out.statistics.data(), std::ssize(statistics_sum_),
                        split_.statistics_multiplier * sensitivity, stream);
    }
    if (config_.as_published) {
        const auto none = torch::zeros({0, std::ssize(sizes)}, torch::kFloat64);
        raw_ = raw_norms_.empty() ? raw_statistics_of(none, none)
                                  : raw_statistics_of(at::cat(raw_norms_), at::cat(raw_losses_));
    }
    sum_ = at::Tensor();
    return out;
}

}  // namespace rldp::privacy
