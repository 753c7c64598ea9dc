#include "privacy/sanitizer.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "config/error.hpp"
#include "privacy/sanitizer_kernels.hpp"

namespace rldp::privacy {

namespace {

/// Columns that are worked on at a time: their sums stay in the first-level cache.
constexpr std::int64_t block_columns = 2048;
/// Elements that a device holds in float64 at a time.
constexpr std::int64_t device_elements = std::int64_t{1} << 25;

at::Tensor float_rows(const at::Tensor& gradients) {
    return gradients.to(at::kFloat).contiguous();
}

/// norms [b, n] on the CPU.
void host_norms(const at::Tensor& gradients, const std::vector<std::int64_t>& sizes, at::Tensor& norms) {
    const auto rows = float_rows(gradients);
    at::parallel_for(0, rows.size(0), 1, [&](std::int64_t first, std::int64_t last) {
        for (auto unit = first; unit < last; ++unit) {
            const float* x = rows.data_ptr<float>() + unit * rows.size(1);
            double* out = norms.data_ptr<double>() + unit * norms.size(1);
            for (auto d : sizes) {
                *out++ = std::sqrt(detail::squared_norm(x, d));
                x += d;
            }
        }
    });
}

/// sum += Σ_b factor_b·x_b for the columns of one group.
void host_sum(const at::Tensor& rows, const at::Tensor& factors, std::int64_t offset, std::int64_t size,
              at::Tensor& sum) {
    const std::int64_t blocks = (size + block_columns - 1) / block_columns;
    at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
        for (auto at = offset + first * block_columns; at < std::min(offset + last * block_columns, offset + size);
             at += block_columns) {
            const auto width = std::min(block_columns, offset + size - at);
            for (std::int64_t unit = 0; unit < rows.size(0); ++unit) {
                detail::add_scaled(sum.data_ptr<double>() + at, rows.data_ptr<float>() + unit * rows.size(1) + at,
                                   factors.data_ptr<double>()[unit], width);
            }
        }
    });
}

void device_sum(const at::Tensor& rows, const at::Tensor& factors, std::int64_t offset, std::int64_t size,
                at::Tensor& sum) {
    const auto columns = std::max<std::int64_t>(1, device_elements / rows.size(0));
    for (auto at = offset; at < offset + size; at += columns) {
        const auto width = std::min(columns, offset + size - at);
        sum.narrow(0, at, width).addmv_(rows.narrow(1, at, width).to(at::kDouble).t(), factors);
    }
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
    if (gradients.dim() != 2 || gradients.size(1) != std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})) {
        throw error(errc::failed, "sanitizer: gradients must be [units, coordinates]");
    }
    auto norms = torch::zeros({gradients.size(0), std::ssize(sizes)}, gradients.options().dtype(at::kDouble));
    if (gradients.is_cpu()) {
        host_norms(gradients, sizes, norms);
    } else {
        std::int64_t offset = 0;
        for (std::int64_t i = 0; i < std::ssize(sizes); ++i) {
            const auto d = sizes[static_cast<std::size_t>(i)];
            norms.select(1, i).copy_(
                at::linalg_vector_norm(gradients.narrow(1, offset, d), 2, at::IntArrayRef{1}, false, at::kDouble));
            offset += d;
        }
    }
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
    double expected = order.noise_multiplier;
    if (config_.as_published) {
        // s_i = σ·C_i is what `proportional` gives for z_g = σ/√n, the multiplier that really results.
        expected /= std::sqrt(static_cast<double>(n));
        split_ = split_noise(expected, 0);
        deviations_ = noise_standard_deviations(allocation::proportional, split_.gradient_multiplier, order.radii,
                                                config_.group_sizes, {});
    } else {
        split_ = split_noise(order.noise_multiplier, config_.statistics_share);
        deviations_ = noise_standard_deviations(config_.how, split_.gradient_multiplier, order.radii,
                                                config_.group_sizes, order.shares);
    }
    const bool measured = std::isfinite(split_.statistics_multiplier);
    if (measured && order.frame.trackers.size() != n) refuse("sanitizer: one quantile tracker per group is needed");
    check_charge(order, expected);
    order_ = order;
    last_seq_ = order.seq;
    open_ = true;
    sum_ = at::Tensor();
    statistics_.reset();
    if (measured)  // the sum over nobody: zeros, and the sensitivity
        statistics_ = statistics_sum(torch::zeros({0, std::ssize(config_.group_sizes)}, torch::kFloat64),
                                     torch::zeros({0}, torch::kFloat64), order.frame);
    raw_norms_.clear();
    raw_losses_.clear();
}

void sanitizer::check_charge(const step_order& order, double expected) const {
    // Worked out again from the deviations that the noise will have, not from the rule that made them.
    const double joint = std::hypot(1 / effective_multiplier(order.radii, deviations_), 1 / split_.statistics_multiplier);
    if (!(std::abs(joint * expected - 1) < 1e-9))
        throw error(errc::failed, fmt::format("sanitizer: step {}: the noise amounts to multiplier {}, {} was charged",
                                              order.step, 1 / joint, expected));
}

void sanitizer::add(const unit_gradients& batch) {
    const torch::NoGradGuard no_grad;
    auto gradients = batch.gradients;
    auto losses = batch.losses;
    if (!open_) throw error(errc::failed, "sanitizer: no step was begun");
    auto [norms, finite] = group_norms(gradients, config_.group_sizes);
    if (losses.numel() != gradients.size(0)) throw error(errc::failed, "sanitizer: losses must be [units]");
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
    if (statistics_) {
        const auto more = statistics_sum(norms, losses, order_.frame).sum;
        std::transform(more.begin(), more.end(), statistics_->sum.begin(), statistics_->sum.begin(), std::plus<>());
    }
    if (config_.as_published) {
        raw_norms_.push_back(norms);
        raw_losses_.push_back(losses);
    }
}

void sanitizer::clip_into_sum(const at::Tensor& gradients, const at::Tensor& norms) {
    if (!sum_.defined()) sum_ = torch::zeros({coordinates_}, gradients.options().dtype(at::kDouble));
    const auto factors = clip_factors(norms, order_.radii).t().contiguous();  // [n, b]
    const auto rows = gradients.is_cpu() ? float_rows(gradients) : gradients;
    const auto add_group = gradients.is_cpu() ? host_sum : device_sum;
    std::int64_t offset = 0;
    for (std::int64_t i = 0; i < std::ssize(config_.group_sizes); ++i) {
        const auto size = config_.group_sizes[static_cast<std::size_t>(i)];
        add_group(rows, factors[i], offset, size, sum_);
        offset += size;
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
    if (statistics_) {
        random_stream stream(key_, purpose::noise, order_.seq, sizes.size());
        out.statistics.resize(statistics_->sum.size());
        noise_and_round(statistics_->sum.data(), out.statistics.data(), std::ssize(statistics_->sum),
                        split_.statistics_multiplier * statistics_->sensitivity, stream);
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
