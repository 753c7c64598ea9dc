// GeoClip (Gilani, Dahan, Zamani, Nandi 2025, arXiv 2506.06549): clip in the metric in which noise costs least, by the
// covariance that earlier releases show. docs/methods.md; how Σ is estimated, covariance_track.hpp.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "privacy/methods/geometries.hpp"
#include "privacy/methods/method_state.hpp"
#include "privacy/methods/methods.hpp"

namespace rldp::privacy {

namespace {

constexpr double mean_memory = 0.99;   // β1, the paper's
constexpr double least_share = 1e-12;  // of the first one: keeps λ⊥ positive where there is next to no noise

class geoclip final : public method {
  public:
    explicit geoclip(const method_config& config) : config_(config), coordinates_(count_coordinates(config)) {
        // Σ = C0²/D·I has S/√D = C0: the first step is DP-SGD's at radius C0.
        first_variance_ = config.initial_radius * config.initial_radius / static_cast<double>(coordinates_);
        for (auto size : config.pair_sizes)
            tracks_.push_back(fresh_track(size, std::min(config.rank, size - 1), first_variance_));
        reshape(at::zeros({coordinates_}, at::kDouble), std::move(tracks_));
    }

    step_terms next_terms(double) const override { return clip_in(shape_); }
    at::Tensor absorb(const release& value) override;
    std::vector<double> radii() const override {
        return {shape_->root_trace() / std::sqrt(static_cast<double>(coordinates_))};
    }
    method_state save() const override;
    void load(const method_state& from) override;

  private:
    /// Takes on a centre and tracks, and M as they have it.
    void reshape(at::Tensor centre, std::vector<covariance_track> tracks);

    method_config config_;
    std::int64_t coordinates_;   ///< D
    double first_variance_ = 0;  ///< C0²/D
    std::vector<covariance_track> tracks_;
    std::shared_ptr<const spiked_geometry> shape_;
};

void geoclip::reshape(at::Tensor centre, std::vector<covariance_track> tracks) {
    std::vector<spiked_block> blocks;
    for (const auto& track : tracks) blocks.push_back(estimate_covariance(track, first_variance_ * least_share));
    // Variances are seen on clipped gradients, so that without this both could only shrink:
    // the covariance's form is learned, its size is that of radius C0. The tracks stay in units of the gradients.
    const double ratio = config_.initial_radius * std::sqrt(static_cast<double>(coordinates_)) / root_trace(blocks);
    for (auto& block : blocks) {
        block.variances = block.variances * (ratio * ratio);
        block.tail *= ratio * ratio;
        block.variances = block.variances.clamp(block.tail, block.tail * most_spread);  // rounding
    }
    shape_ = std::make_shared<spiked_geometry>(std::move(centre), std::move(blocks));
    tracks_ = std::move(tracks);
}

at::Tensor geoclip::absorb(const release& value) {
    const at::NoGradGuard no_grad;
    const auto deviation = released_mean(value, coordinates_, config_.expected_batch);
    const double scale = value.charged->noise_multiplier * (1 + config_.rounding_margin) / config_.expected_batch;
    std::vector<covariance_track> tracks;
    std::int64_t offset = 0;
    for (std::size_t p = 0; p < tracks_.size(); ++p) {
        const auto& block = shape_->blocks()[p];
        const auto size = config_.pair_sizes[p];
        // z²/B²·(MᵀM)⁻¹ = z²/B²·S·Σ^½, exactly what was added, times what a step in bands has more of.
        const auto roots = at::cat({block.variances, at::full({1}, block.tail, at::kDouble)}).sqrt();
        tracks.push_back(updated(tracks_[p], deviation.narrow(0, offset, size),
                                 roots * (scale * scale * config_.step_variance * shape_->root_trace()),
                                 config_.expected_batch));
        offset += size;
    }
    const auto centre = shape_->centre();
    reshape(centre + deviation * (1 - mean_memory), std::move(tracks));
    return (centre + deviation).to(at::kFloat);
}

method_state geoclip::save() const {
    method_state out{
        nlohmann::json{{"method", config_.name}, {"sizes", config_.pair_sizes}, {"rank", config_.rank}}.dump(),
        {{"centre", shape_->centre()}}};
    for (std::size_t p = 0; p < tracks_.size(); ++p) {
        out.tensors.emplace_back("directions." + std::to_string(p), tracks_[p].directions);
        out.tensors.emplace_back("energies." + std::to_string(p), tracks_[p].energies);
        out.tensors.emplace_back("noise." + std::to_string(p), tracks_[p].noise);
    }
    return out;
}

void geoclip::load(const method_state& from) {
    check_sizes(from, config_.name, config_.pair_sizes);
    std::vector<covariance_track> tracks;
    for (std::size_t p = 0; p < tracks_.size(); ++p) {
        const auto suffix = std::to_string(p);
        const auto size = config_.pair_sizes[p], rank = tracks_[p].directions.size(1);
        tracks.push_back({state_tensor(from, "directions." + suffix, {size, rank}),
                          state_tensor(from, "energies." + suffix, {rank + 1}),
                          state_tensor(from, "noise." + suffix, {rank + 1})});
    }
    auto centre = state_tensor(from, "centre", {coordinates_});
    try {
        reshape(std::move(centre), std::move(tracks));
    } catch (const error& reason) {
        refuse(std::string("checkpoint: the state of method geoclip is damaged: ") + reason.what());
    }
}

}  // namespace

std::unique_ptr<method> make_geoclip(const method_config& config) {
    return std::make_unique<geoclip>(config);
}

}  // namespace rldp::privacy
