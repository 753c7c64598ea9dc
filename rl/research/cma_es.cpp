#include "rl/research/cma_es.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "models/thread_count.hpp"
#include "rl/prepared/splitmix.hpp"

namespace rldp::rl {
namespace {

double norm(const cma_es::point& values) {
    return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

cma_es::point numbers_at(const json_reader& from, const std::string& key, std::size_t size) {
    const auto& stored = from.at(key);
    const bool fits = stored.is_array() && stored.size() == size &&
                      std::all_of(stored.begin(), stored.end(), [](const auto& one) { return one.is_number(); });
    refuse_unless(fits,
                  from.origin() + ": '" + key + "' is not the list of numbers that a search saves; start it anew");
    return stored.get<cma_es::point>();
}

}  // namespace

cma_es::cma_es(cma_es::point start, double deviation, std::uint64_t seed, std::size_t population)
    : mean_(std::move(start)),
      deviation_(deviation),
      seed_(seed),
      population_(population),
      covariance_(mean_.size() * mean_.size()),
      covariance_path_(mean_.size()),
      step_path_(mean_.size()),
      best_(mean_),
      best_value_(std::numeric_limits<double>::infinity()) {
    require(!mean_.empty(), "cma_es: nothing to search over");
    require_positive(deviation, "cma_es: the first deviation");
    const std::size_t n = mean_.size();
    if (population_ == 0) population_ = 4 + static_cast<std::size_t>(3 * std::log(static_cast<double>(n)));
    require(population_ >= 4, "cma_es: a population has at least four points");
    for (std::size_t i = 0; i < population_ / 2; ++i)
        weights_.push_back(std::log(static_cast<double>(population_ + 1) / 2) - std::log(static_cast<double>(i + 1)));
    const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    for (double& weight : weights_) weight /= sum;
    mass_ = 1 / std::inner_product(weights_.begin(), weights_.end(), weights_.begin(), 0.0);
    for (std::size_t i = 0; i < n; ++i) covariance_[i * n + i] = 1;
    decompose();
}

void cma_es::decompose() {
    const models::one_thread same_bits_everywhere;
    const auto n = static_cast<std::int64_t>(mean_.size());
    const auto [squares, axes] = at::linalg_eigh(at::from_blob(covariance_.data(), {n, n}, at::kDouble));
    const auto kept = axes.contiguous();
    axes_.assign(kept.data_ptr<double>(), kept.data_ptr<double>() + n * n);
    lengths_.resize(mean_.size());
    for (std::int64_t i = 0; i < n; ++i)
        lengths_[static_cast<std::size_t>(i)] = std::sqrt(std::max(squares[i].item<double>(), 0.0));
}

// The numbers of a generation come from the seed and its count alone: nothing else need be saved.
std::vector<cma_es::point> cma_es::steps() const {
    const std::size_t n = mean_.size();
    splitmix random(seed_, generation_);
    std::vector<cma_es::point> out(population_, cma_es::point(n));
    for (cma_es::point& step : out)
        for (std::size_t axis = 0; axis < n; ++axis) {
            const double along = lengths_[axis] * random.normal();
            for (std::size_t i = 0; i < n; ++i) step[i] += axes_[i * n + axis] * along;
        }
    return out;
}

std::vector<cma_es::point> cma_es::ask() const {
    auto out = steps();
    for (cma_es::point& one : out)
        for (std::size_t i = 0; i < one.size(); ++i) one[i] = mean_[i] + deviation_ * one[i];
    return out;
}

void cma_es::tell(std::span<const double> values) {
    require(values.size() == population_, "cma_es: one value per point");
    const auto rank = [&](std::size_t i) { return std::isnan(values[i]) ? HUGE_VAL : values[i]; };
    std::vector<std::size_t> order(population_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    if (rank(order[0]) < best_value_) {
        best_value_ = rank(order[0]);
        best_ = ask()[order[0]];
    }

    const std::size_t size = mean_.size();
    const auto n = static_cast<double>(size);
    const auto all = steps();
    cma_es::point step(size);  // the weighted mean
    for (std::size_t k = 0; k < weights_.size(); ++k)
        for (std::size_t i = 0; i < size; ++i) step[i] += weights_[k] * all[order[k]][i];
    for (std::size_t i = 0; i < size; ++i) mean_[i] += deviation_ * step[i];

    // The names of the tutorial's table 1.
    const double c_sigma = (mass_ + 2) / (n + mass_ + 5);
    const double d_sigma = 1 + 2 * std::max(0.0, std::sqrt((mass_ - 1) / (n + 1)) - 1) + c_sigma;
    const double c_c = (4 + mass_ / n) / (n + 4 + 2 * mass_ / n);
    const double c_1 = 2 / ((n + 1.3) * (n + 1.3) + mass_);
    const double c_mu = std::min(1 - c_1, 2 * (mass_ - 2 + 1 / mass_) / ((n + 2) * (n + 2) + mass_));
    const double expected = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));  // E‖N(0, I)‖

    cma_es::point whitened(size);  // C^(−1/2)·step
    for (std::size_t axis = 0; axis < size; ++axis) {
        double along = 0;
        for (std::size_t i = 0; i < size; ++i) along += axes_[i * size + axis] * step[i];
        if (lengths_[axis] > 0) along /= lengths_[axis];
        for (std::size_t i = 0; i < size; ++i) whitened[i] += axes_[i * size + axis] * along;
    }
    ++generation_;
    const double step_gain = std::sqrt(c_sigma * (2 - c_sigma) * mass_);
    for (std::size_t i = 0; i < size; ++i) step_path_[i] = (1 - c_sigma) * step_path_[i] + step_gain * whitened[i];
    const double length = norm(step_path_);
    const double settled = std::sqrt(1 - std::pow(1 - c_sigma, 2 * static_cast<double>(generation_)));
    const bool follows = length / settled < (1.4 + 2 / (n + 1)) * expected;  // h_σ: else the path would stretch C
    const double path_gain = follows ? std::sqrt(c_c * (2 - c_c) * mass_) : 0;
    for (std::size_t i = 0; i < size; ++i) covariance_path_[i] = (1 - c_c) * covariance_path_[i] + path_gain * step[i];

    const double kept = 1 - c_1 - c_mu + (follows ? 0 : c_1 * c_c * (2 - c_c));
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            double value = kept * covariance_[i * size + j] + c_1 * covariance_path_[i] * covariance_path_[j];
            for (std::size_t k = 0; k < weights_.size(); ++k)
                value += c_mu * weights_[k] * all[order[k]][i] * all[order[k]][j];
            covariance_[i * size + j] = covariance_[j * size + i] = value;
        }
    deviation_ *= std::exp(c_sigma / d_sigma * (length / expected - 1));
    decompose();
}

std::string cma_es::save() const {
    nlohmann::json out = {{"mean", mean_},
                          {"deviation", deviation_},
                          {"seed", std::to_string(seed_)},
                          {"population", population_},
                          {"generation", generation_},
                          {"covariance", covariance_},
                          {"covariance_path", covariance_path_},
                          {"step_path", step_path_},
                          {"best", best_}};
    if (std::isfinite(best_value_)) out["best_value"] = best_value_;
    return out.dump();
}

cma_es cma_es::load(const std::string& text, const std::string& origin) {
    const auto object = parse_object(text, origin);
    const json_reader from(object, origin);
    constexpr double most = std::numeric_limits<double>::max();
    constexpr std::int64_t most_points = 1'000'000;
    const auto& mean = from.at("mean");
    refuse_unless(mean.is_array() && !mean.empty(), origin + ": 'mean' is not a point; start the search anew");
    const std::size_t n = mean.size();
    std::uint64_t seed = 0;
    std::istringstream(from.text("seed")) >> seed;
    cma_es out(numbers_at(from, "mean", n), from.number("deviation", std::numeric_limits<double>::min(), most), seed,
               static_cast<std::size_t>(from.integer("population", 4, most_points)));
    out.generation_ = static_cast<std::size_t>(from.integer("generation", 0, std::numeric_limits<std::int64_t>::max()));
    out.covariance_ = numbers_at(from, "covariance", n * n);
    out.covariance_path_ = numbers_at(from, "covariance_path", n);
    out.step_path_ = numbers_at(from, "step_path", n);
    out.best_ = numbers_at(from, "best", n);
    if (from.has("best_value")) out.best_value_ = from.number("best_value", -most, most);
    out.decompose();
    return out;
}

}  // namespace rldp::rl
