#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/kinds.hpp"
#include "privacy/mechanism/measurement.hpp"
#include "privacy/mechanism/statistics.hpp"

namespace rldp::privacy {

double statistics_weights::sensitivity(std::size_t groups) const {
    return std::sqrt(0.75 * static_cast<double>(groups) * quantile * quantile + loss * loss + moment * moment);
}

statistics_weights weights_for(std::size_t groups) {
    require(groups > 0, "statistics need at least one group");
    // Δ² = 1 in three parts. With noise s_φ = z_φ on every entry, an entry of weight w is read with noise z_φ/w, so a
    // part p of Δ² buys: bits z_φ·sqrt(¾n/p), loss z_φ·R_ℓ/√p, moments z_φ/√p. The bits get half, for their noise grows
    // as √n and the radii hang on them; the loss, whose differences are the reward, ⅜; the moments only colour the
    // state, ⅛.
    return {std::sqrt(0.5 / (0.75 * static_cast<double>(groups))), std::sqrt(0.375), std::sqrt(0.125)};
}

bounded_sum statistics_sum(const at::Tensor& norms, const at::Tensor& losses, const statistics_frame& frame) {
    const std::size_t groups = frame.trackers.size();
    const auto weights = weights_for(groups);
    require(norms.dim() == 2 && norms.size(1) == static_cast<std::int64_t>(groups) && losses.numel() == norms.size(0),
            "statistics: norms must be [units, groups] and losses [units]");
    for (double range : {frame.loss_range, frame.norm_range}) require_positive(range, "a range of the statistics");
    const auto host_norms = norms.to(at::kCPU, at::kDouble).contiguous();
    const auto host_losses = losses.to(at::kCPU, at::kDouble).contiguous();
    std::vector<double> sum(3 * groups + 5, 0.0);
    double* const loss_part = sum.data() + 3 * groups;
    for (std::int64_t unit = 0; unit < norms.size(0); ++unit) {
        const double* row = host_norms.data_ptr<double>() + unit * norms.size(1);
        double power_sums[4] = {0, 0, 0, 0};
        for (std::size_t i = 0; i < groups; ++i) {
            // Not finite counts as far away: no bit is set and the moment is clipped, so φ keeps its bound.
            for (std::size_t k = 0; k < 3; ++k) sum[3 * i + k] += within(row[i] / frame.trackers[i][k]) - 0.5;
            const double ratio = row[i] / frame.norm_range;
            const double clipped = ratio < 1 ? std::max(ratio, 0.0) : 1.0;
            double power = 1;
            for (double& total : power_sums) total += power *= clipped;
        }
        if (const double loss = host_losses.data_ptr<double>()[unit]; std::isfinite(loss)) {
            *loss_part += std::clamp((loss - frame.loss_centre) / frame.loss_range, -1.0, 1.0);
        }
        for (int k = 0; k < 4; ++k) loss_part[1 + k] += power_sums[k] / static_cast<double>(groups) - 0.5;
    }
    for (std::size_t j = 0; j < 3 * groups; ++j) sum[j] *= weights.quantile;
    *loss_part *= weights.loss;
    for (int k = 1; k <= 4; ++k) loss_part[k] *= weights.moment;
    return {std::move(sum), weights.sensitivity(groups)};
}

std::vector<double> observation::flat() const {
    auto out = quartiles;
    out.insert(out.end(), {utility, epsilon, variance, loss, fisher_mean, fisher_variance, skewness, kurtosis});
    return out;
}

namespace {

constexpr std::int64_t least_window = 10, longest_window = 100;  // steps
constexpr std::array<double, 3> quantiles = {0.25, 0.5, 0.75};
using limits::least_radius, limits::greatest_radius;
constexpr double least_loss_range = 0.25, greatest_loss = 1e3;  // nats
constexpr double least_variance = 1e-4;                         // of ν/R, which lies in [0, 1]

/// Mean token losses of units lie well within half of their own mean around it.
double loss_range_around(double centre) {
    return std::max(least_loss_range, 0.5 * centre);
}

/// Twice the widest upper quartile: few norms lie above it.
double norm_range_for(const statistics_frame& frame) {
    double widest = least_radius;
    for (const auto& r : frame.trackers) widest = std::max(widest, r[2]);
    return 2 * widest;
}

/// Doubles as JSON that reads back to the bit; NaN and infinities, which JSON lacks, as null: they mean "none yet".
double real_or_nan(const nlohmann::json& value) {
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

}  // namespace

statistics_tracker::statistics_tracker(std::size_t groups, double expected_batch, double initial_radius,
                                       double initial_loss)
    : expected_batch_(expected_batch), window_(3 * groups + 1), last_loss_(std::numeric_limits<double>::quiet_NaN()) {
    require(groups > 0, "statistics need at least one group");
    require_positive(expected_batch, "the expected batch size");
    require(initial_radius >= least_radius && initial_radius <= greatest_radius,
            "the initial clip radius is out of range");
    require(initial_loss >= 0 && initial_loss <= greatest_loss, "the initial loss lies outside [0, 1000] nats");
    frame_.trackers.assign(groups, {initial_radius, initial_radius, initial_radius});
    frame_.loss_centre = initial_loss;
    frame_.loss_range = loss_range_around(initial_loss);
    frame_.norm_range = norm_range_for(frame_);
}

void statistics_tracker::add(const release& value) {
    raw_ = value.unsound;
    if (raw_) {
        require(raw_->quartiles.size() == frame_.trackers.size(), "statistics: a release of another number of groups");
        // As published: an empty batch has no quartiles, the last ones stay.
        if (raw_->units > 0) frame_.trackers = raw_->quartiles;
        last_loss_ = raw_->loss;
    } else if (!value.statistics.empty()) {
        accumulate(value);
        if (window_steps_ >= least_window) move_frame();
    }
}

void statistics_tracker::accumulate(const release& value) {
    const std::size_t bits = 3 * frame_.trackers.size();
    const auto& sums = value.statistics;
    require(sums.size() == bits + 5, "statistics: a release of another number of groups");
    const auto weights = weights_for(frame_.trackers.size());
    for (std::size_t j = 0; j <= bits; ++j) window_[j] += sums[j];
    for (std::size_t j = 0; j < bits; ++j) window_squares_ += sums[j] * sums[j];
    ++window_steps_;
    // Frames differ between steps of an interval: what is summed up is in nats and in powers of a norm.
    last_loss_ = frame_.loss_centre + frame_.loss_range * sums[bits] / (weights.loss * expected_batch_);
    interval_[0] += last_loss_;
    double power = 1;
    for (std::size_t k = 1; k <= 4; ++k) {
        power *= frame_.norm_range;
        interval_[k] += power * (sums[bits + k] / (weights.moment * expected_batch_) + 0.5);
    }
    ++interval_steps_;
}

void statistics_tracker::move_frame() {
    const std::size_t bits = 3 * frame_.trackers.size();
    const auto steps = static_cast<double>(window_steps_);
    const auto weights = weights_for(frame_.trackers.size());
    const double unit = weights.quantile * expected_batch_ * steps;
    double surprise = 0, scatter = window_squares_;
    for (std::size_t j = 0; j < bits; ++j) {
        const double off = window_[j] / unit + 0.5 - quantiles[j % 3];
        surprise += off * off;
        scatter -= window_[j] * window_[j] / steps;
    }
    // Variance of these readings, noise and sampling together, from their scatter between steps: of the surprise, this
    // part means nothing (positive-part James–Stein shrinkage).
    const double meaningless = scatter / (steps - 1) * steps / (unit * unit);
    const double signal = surprise > 0 ? std::max(0.0, 1 - meaningless / surprise) : 0;
    if (signal == 0 && window_steps_ < longest_window) return;  // a longer window sees more
    // Geometric steps (Andrew et al. 2021), wide at first: where the norms lie is unknown then.
    const double rate = signal * std::max(1.0, 3.0 / static_cast<double>(++moves_));
    for (std::size_t j = 0; j < bits; ++j) {
        const double fraction = std::clamp(window_[j] / unit + 0.5, 0.0, 1.0);
        double& r = frame_.trackers[j / 3][j % 3];
        r = std::clamp(r * std::exp(-rate * (fraction - quantiles[j % 3])), least_radius, greatest_radius);
    }
    const double shift = std::clamp(window_[bits] / (weights.loss * expected_batch_ * steps), -1.0, 1.0);
    frame_.loss_centre = std::clamp(frame_.loss_centre + shift * frame_.loss_range, 0.0, greatest_loss);
    // Most losses out of range say only in which direction to look: look further.
    frame_.loss_range =
        std::abs(shift) > 0.5 ? std::min(2 * frame_.loss_range, greatest_loss) : loss_range_around(frame_.loss_centre);
    frame_.norm_range = norm_range_for(frame_);
    std::fill(window_.begin(), window_.end(), 0.0);
    window_squares_ = 0;
    window_steps_ = 0;
}

observation statistics_tracker::observe(double epsilon_spent) {
    observation out;
    for (auto r : frame_.trackers) {
        std::sort(r.begin(), r.end());
        out.quartiles.insert(out.quartiles.end(), r.begin(), r.end());
    }
    out.epsilon = epsilon_spent;
    if (raw_) {
        out.loss = raw_->loss;
        out.variance = raw_->variance;
        out.fisher_mean = raw_->fisher_mean;
        out.fisher_variance = raw_->fisher_variance;
        out.skewness = raw_->skewness;
        out.kurtosis = raw_->kurtosis;
    } else {
        const double steps = static_cast<double>(std::max<std::int64_t>(interval_steps_, 1));
        const double range = frame_.norm_range;
        out.loss = interval_steps_ > 0 ? interval_[0] / steps : frame_.loss_centre;
        // Moments of ν/R in [0, 1] fall with their order; noise must not undo that.
        std::array<double, 5> m{1, 0, 0, 0, 0};
        double power = 1;
        for (std::size_t k = 1; k <= 4; ++k) {
            power *= range;
            m[k] = std::clamp(interval_[k] / steps / power, 0.0, m[k - 1]);
        }
        out.variance = std::max(m[2] - m[1] * m[1], least_variance);
        out.fisher_mean = range * range * m[2];
        out.fisher_variance = power * std::max(m[4] - m[2] * m[2], 0.0);
        const double third = m[3] - 3 * m[1] * m[2] + 2 * m[1] * m[1] * m[1];
        const double fourth = m[4] - 4 * m[1] * m[3] + 6 * m[1] * m[1] * m[2] - 3 * m[1] * m[1] * m[1] * m[1];
        out.skewness = std::clamp(third / std::pow(out.variance, 1.5), -10.0, 10.0);
        out.kurtosis = std::clamp(fourth / (out.variance * out.variance), 0.0, 100.0);
    }
    out.utility = -out.loss;
    interval_.fill(0);
    interval_steps_ = 0;
    return out;
}

std::vector<double> statistics_tracker::medians() const {
    std::vector<double> out;
    for (const auto& r : frame_.trackers) out.push_back(r[1]);
    return out;
}

std::string statistics_tracker::save() const {
    nlohmann::json out = {{"trackers", frame_.trackers},
                          {"loss_centre", frame_.loss_centre},
                          {"loss_range", frame_.loss_range},
                          {"norm_range", frame_.norm_range},
                          {"window", window_},
                          {"window_squares", window_squares_},
                          {"window_steps", window_steps_},
                          {"moves", moves_},
                          {"interval", interval_},
                          {"interval_steps", interval_steps_},
                          {"last_loss", last_loss_}};
    if (raw_) {
        out["raw"] = {{"quartiles", raw_->quartiles}, {"loss", raw_->loss},
                      {"variance", raw_->variance},   {"fisher_mean", raw_->fisher_mean},
                      {"skewness", raw_->skewness},   {"fisher_variance", raw_->fisher_variance},
                      {"kurtosis", raw_->kurtosis},   {"units", raw_->units}};
    }
    return out.dump();
}

void statistics_tracker::load(const std::string& text) try {
    const auto in = nlohmann::json::parse(text);
    statistics_tracker loaded = *this;
    in.at("trackers").get_to(loaded.frame_.trackers);
    in.at("loss_centre").get_to(loaded.frame_.loss_centre);
    in.at("loss_range").get_to(loaded.frame_.loss_range);
    in.at("norm_range").get_to(loaded.frame_.norm_range);
    in.at("window").get_to(loaded.window_);
    in.at("window_squares").get_to(loaded.window_squares_);
    in.at("window_steps").get_to(loaded.window_steps_);
    in.at("moves").get_to(loaded.moves_);
    in.at("interval").get_to(loaded.interval_);
    in.at("interval_steps").get_to(loaded.interval_steps_);
    loaded.last_loss_ = real_or_nan(in.at("last_loss"));
    loaded.raw_.reset();
    if (const auto raw = in.find("raw"); raw != in.end()) {
        auto& out = loaded.raw_.emplace();
        raw->at("quartiles").get_to(out.quartiles);
        raw->at("loss").get_to(out.loss);
        raw->at("variance").get_to(out.variance);
        raw->at("fisher_mean").get_to(out.fisher_mean);
        raw->at("fisher_variance").get_to(out.fisher_variance);
        raw->at("skewness").get_to(out.skewness);
        raw->at("kurtosis").get_to(out.kurtosis);
        raw->at("units").get_to(out.units);
    }
    if (loaded.frame_.trackers.size() != frame_.trackers.size() || loaded.window_.size() != window_.size()) {
        refuse("statistics: the checkpoint has another number of groups than this model");
    }
    *this = std::move(loaded);
} catch (const nlohmann::json::exception& e) {
    refuse(std::string("statistics: the checkpoint can't be read: ") + e.what());
}

}  // namespace rldp::privacy
