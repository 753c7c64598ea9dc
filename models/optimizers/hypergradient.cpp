// Hypergradient descent (Baydin et al. 2018) of AdamW's rate, in its logarithm: if the gradient still points along the
// last move, that was too short, and if against it, too long.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "models/optimizers/parts.hpp"

namespace rldp::models {

namespace {

/// κ, by which the log rate moves for a score of 1. Tried were 0.01 to 0.2 on noisy quadratics of 100 and 300 steps,
/// whose rate was 64 times too low to 16 times too high: 0.01 does not come up from 1/64 in 100 steps, and from 0.05 on
/// noise moves a rate that was right.
constexpr double per_score = 0.02;
/// A score in units of its noise grows with the root of how many numbers there are; no more than this is believed.
constexpr double most_score = 3;
const double most_log_factor = std::log(1e4);

class hypergradient final : public optimizer {
  public:
    hypergradient(at::Tensor parameters, const adamw_config& config)
        : inner_(std::move(parameters), config), moved_(at::zeros_like(inner_.parameters())) {}

    void step(const noisy_gradient& seen, double rate) override {
        require(seen.deviations.defined(), "hypergradient wants to know the noise");
        log_factor_ = std::clamp(log_factor_ + per_score * score(seen), -most_log_factor, most_log_factor);
        const auto before = inner_.parameters();
        inner_.step(seen.values, rate * std::exp(log_factor_));
        moved_ = inner_.parameters() - before;
    }
    const at::Tensor& parameters() const override { return inner_.parameters(); }
    bool asks_for_noise() const override { return true; }

    optimizer_state snapshot() const override {
        optimizer_state out{.parameters = inner_.parameters(),
                            .tensors = {{"moved", moved_}},
                            .numbers = nlohmann::json{{"log_factor", log_factor_}}.dump()};
        store(inner_.snapshot(), out);
        return out;
    }
    void restore(const optimizer_state& from) override {
        const auto inner = stored_adamw(from, parameters_of(from, moved_));
        const auto moved = tensor_of(from, "moved", moved_);
        read_numbers(from, [&](const auto& numbers) { log_factor_ = numbers.at("log_factor"); });
        inner_.restore(inner);
        moved_ = moved;
    }

  private:
    /// ⟨−g, the last move⟩ over what it varies by if g is noise alone, which the move knows nothing of.
    double score(const noisy_gradient& seen) const {
        const auto device = moved_.device();
        const double along = -product(seen.values.to(device), moved_);
        if (along == 0) return 0;
        const double deviation = std::sqrt(squared_norm(seen.deviations.to(device, at::kFloat) * moved_));
        return std::clamp(along / deviation, -most_score, most_score);  // without noise it is as sure as can be
    }

    adamw inner_;
    at::Tensor moved_;       ///< by the last step
    double log_factor_ = 0;  ///< of the rate
};

}  // namespace

std::unique_ptr<optimizer> make_hypergradient(at::Tensor parameters, const adamw_config& config) {
    return std::make_unique<hypergradient>(std::move(parameters), config);
}

}  // namespace rldp::models
