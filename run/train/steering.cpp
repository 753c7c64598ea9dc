#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "models/thread_count.hpp"
#include "privacy/mechanism/noise.hpp"
#include "privacy/methods/method_state.hpp"
#include "run/train/steering.hpp"

namespace rldp::rl {
namespace {

at::Tensor host(const at::Tensor& adapter) {
    return adapter.to(at::kCPU, at::kDouble);
}

// [n]: of the products of two vectors [D], per group.
std::vector<double> products(const std::vector<privacy::segment>& segments, std::size_t groups, const at::Tensor& a,
                             const at::Tensor& b) {
    std::vector<double> out(groups);
    const auto all = a * b;
    std::int64_t begin = 0;
    for (const auto& part : segments) {
        out[part.group] += all.narrow(0, begin, part.size).sum().item<double>();
        begin += part.size;
    }
    return out;
}

}  // namespace

block_watch::block_watch(std::vector<privacy::segment> segments, const at::Tensor& adapter,
                         privacy::band_coefficients bands)
    : segments_(std::move(segments)),
      bands_(std::move(bands)),
      sum_(at::zeros({privacy::count_coordinates(segments_)}, at::kDouble)),
      last_sum_(at::zeros_like(sum_)),
      last_moved_(at::zeros_like(sum_)),
      before_(host(adapter)),
      noise_(privacy::sizes_of_groups(segments_).size()),
      features_(noise_.size()) {}

at::Tensor block_watch::whiten(at::Tensor scaled) {
    auto out = scaled * bands_[0];
    for (std::size_t k = 1; k <= last_.size(); ++k) out.add_(last_[k - 1], bands_[k]);
    last_.push_front(std::move(scaled));
    if (last_.size() >= bands_.size()) last_.pop_back();
    return out;
}

void block_watch::add(const at::Tensor& gradient, const std::vector<double>& deviations) {
    require(deviations.size() == features_.size(), "a watch needs the noise of every adapter");
    auto into = bands_.size() == 1 ? sum_ : at::zeros_like(sum_);
    std::int64_t begin = 0;
    for (const auto& part : segments_) {
        into.narrow(0, begin, part.size)
            .add_(gradient.narrow(0, begin, part.size).to(at::kCPU), 1 / deviations[part.group]);
        begin += part.size;
    }
    if (bands_.size() > 1) sum_.add_(whiten(std::move(into)));
    for (std::size_t i = 0; i < noise_.size(); ++i) noise_[i] += deviations[i];
    ++releases_;
}

void block_watch::close(const at::Tensor& adapter) {
    const models::one_thread same_bits_everywhere;
    const auto now = host(adapter), moved = now - before_;
    const auto of = [&](const at::Tensor& a, const at::Tensor& b) {
        return products(segments_, features_.size(), a, b);
    };
    const auto path = of(moved, moved), size = of(now, now);
    for (std::size_t i = 0; i < features_.size(); ++i)
        features_[i].update = compute_update(std::sqrt(path[i]), std::sqrt(size[i]));
    before_ = now;
    score_.reset();
    if (releases_ == 0) return;
    const auto numbers = privacy::sizes_of_groups(segments_);
    const auto released = static_cast<double>(releases_);
    slope_score score;
    const auto squares = of(sum_, sum_), before = of(last_sum_, last_sum_), across = of(sum_, last_sum_);
    const auto last_path = of(last_moved_, last_moved_), product = of(sum_, last_moved_);
    for (std::size_t i = 0; i < features_.size(); ++i) {
        features_[i].signal = compute_signal(squares[i], released * static_cast<double>(numbers[i]));
        features_[i].cosine = compute_cosine(across[i], std::sqrt(squares[i]), std::sqrt(before[i]));
        features_[i].along = compute_along(product[i], std::sqrt(squares[i]), std::sqrt(last_path[i]));
        score.add(product[i], noise_[i] / released, last_path[i], released);
    }
    score_ = score.value();
    last_moved_ = moved;
    std::swap(sum_, last_sum_);
    sum_.zero_();
    std::fill(noise_.begin(), noise_.end(), 0.0);
    releases_ = 0;
}

at::Tensor block_watch::tensors() const {
    return at::stack({sum_, last_sum_, last_moved_, before_});
}

std::string block_watch::numbers() const {
    nlohmann::json out = {{"releases", releases_}, {"noise", noise_}, {"signs", nlohmann::json::array()}};
    if (score_) out["score"] = *score_;
    for (const auto& one : features_) out["signs"].push_back({one.signal, one.cosine, one.along, one.update});
    return out.dump();
}

void block_watch::restore(const at::Tensor& tensors, const std::string& numbers) try {
    refuse_unless(tensors.defined() && tensors.sizes() == at::IntArrayRef{4, sum_.numel()},
                  "checkpoint: it lacks what the controller watches; bring back the run's own");
    const auto in = nlohmann::json::parse(numbers);
    const auto& features = in.at("signs");
    refuse_unless(features.size() == features_.size(), "checkpoint: it watches another number of adapters");
    for (std::size_t i = 0; i < features_.size(); ++i)
        features_[i] = {features[i].at(0), features[i].at(1), features[i].at(2), features[i].at(3)};
    releases_ = in.at("releases");
    noise_ = in.at("noise").get<std::vector<double>>();
    refuse_unless(noise_.size() == features_.size(), "checkpoint: it watches another number of adapters");
    score_.reset();
    if (in.contains("score")) score_ = in["score"].get<double>();
    sum_ = tensors[0].clone();
    last_sum_ = tensors[1].clone();
    last_moved_ = tensors[2].clone();
    before_ = tensors[3].clone();
    last_.clear();
} catch (const nlohmann::json::exception& reason) {
    refuse(std::string("checkpoint: what the controller watches can't be read: ") + reason.what());
}

steered::steered(const steered_config& config)
    : config_(config),
      groups_(privacy::sizes_of_groups(config.segments).size()),
      tracker_(groups_, config.expected_batch, config.initial_radius, config.initial_loss),
      radii_(groups_, config.initial_radius) {
    if (config_.public_radii.empty()) return;
    require(config_.public_radii.size() == groups_, "there is not one public radius per group");
    follow_medians();
}

privacy::step_terms steered::next_terms(double noise_multiplier) const {
    privacy::step_terms out;
    out.radii = radii_;
    out.shares = shares_;
    if (config_.statistics_share == 0) return out;
    out.measured = privacy::measure_statistics(tracker_.frame());
    out.measurement_multiplier = privacy::measurement_multiplier(noise_multiplier, config_.statistics_share);
    return out;
}

at::Tensor steered::absorb(const privacy::release& value) {
    auto out = estimate(value.gradient);
    const bool has_statistics = !value.statistics.empty() || value.unsound;
    if (has_statistics) tracker_.add(value);
    if (has_statistics && value.charged->step <= config_.warmup) follow_medians();
    return out;
}

at::Tensor steered::estimate(const at::Tensor& sum) const {
    auto out = sum / config_.expected_batch;
    if (!config_.rescale) return out;
    std::int64_t offset = 0;
    for (const auto& part : config_.segments) {
        out.narrow(0, offset, part.size) /= radii_[part.group];
        offset += part.size;
    }
    return out;
}

std::vector<double> steered::base_radii() const {
    auto out = config_.public_radii.empty() ? tracker_.medians() : config_.public_radii;
    for (double& radius : out) radius *= config_.radius_scale;
    return out;
}

void steered::follow_medians() {
    radii_ = base_radii();
    for (double& radius : radii_) radius = std::clamp(radius, config_.clip_min, config_.clip_max);
}

void steered::set(const std::vector<double>& radii, const std::vector<double>& shares) {
    if (!radii.empty()) radii_ = radii;
    shares_ = shares;
}

privacy::method_state steered::save() const {
    return {
        nlohmann::json{{"method", "rldp"}, {"radii", radii_}, {"shares", shares_}, {"tracker", tracker_.save()}}.dump(),
        {}};
}

void steered::load(const privacy::method_state& from) try {
    const auto numbers = privacy::read_numbers(from, "rldp");
    tracker_.load(numbers.at("tracker").get<std::string>());
    radii_ = numbers.at("radii").get<std::vector<double>>();
    shares_ = numbers.at("shares").get<std::vector<double>>();
} catch (const nlohmann::json::exception& reason) {
    refuse(std::string("checkpoint: the state of method rldp can't be read: ") + reason.what());
}

}  // namespace rldp::rl
