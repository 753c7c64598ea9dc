// Methods whose rule stays as it is: vanilla DP-SGD (Abadi et al. 2016), DP-LoRA (Liu et al. 2023) by unit and by the
// letter, automatic clipping (Bu et al. 2022), per-sample adaptive clipping (Xia et al. 2022), and DP-AdamBC (Tang et
// al. 2024), whose optimiser is told the noise.
#include <ATen/ATen.h>

#include <utility>

#include "privacy/methods/method_state.hpp"
#include "privacy/methods/methods.hpp"

namespace rldp::privacy {

namespace {

class fixed_method final : public method {
  public:
    fixed_method(const method_config& config, clip_rule rule, bool tells_noise)
        : name_(config.name),
          rule_(rule),
          tells_noise_(tells_noise),
          margin_(config.rounding_margin),
          step_variance_(config.step_variance),
          stabiliser_(config.stabiliser),
          // What is released is a sum, to be divided by the public B; or a mean already.
          divisor_(rule == clip_rule::batch_mean ? 1 : config.expected_batch),
          radii_(config.groups, config.initial_radius) {}

    step_terms next_terms(double) const override {
        step_terms out;
        out.rule = rule_;
        out.stabiliser = stabiliser_;
        out.radii = radii_;
        return out;
    }
    at::Tensor absorb(const release& value) override {
        if (tells_noise_) {
            const double deviation =
                value.charged->noise_multiplier * sensitivities(rule_, radii_, margin_).front() / divisor_;
            variance_ = deviation * deviation * step_variance_;
        }
        return value.gradient / divisor_;
    }
    std::optional<double> noise_variance() const override { return variance_; }
    std::vector<double> radii() const override { return radii_; }
    method_state save() const override { return {nlohmann::json{{"method", name_}}.dump(), {}}; }
    void load(const method_state& from) override { read_numbers(from, name_); }

  private:
    std::string name_;
    clip_rule rule_;
    bool tells_noise_;
    double margin_, step_variance_;
    std::optional<double> variance_;  ///< in the last estimate
    double stabiliser_, divisor_;
    std::vector<double> radii_;
};

}  // namespace

std::unique_ptr<method> make_fixed(const method_config& config, clip_rule rule, bool tells_noise) {
    return std::make_unique<fixed_method>(config, rule, tells_noise);
}

}  // namespace rldp::privacy
