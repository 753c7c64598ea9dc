#pragma once
// What of a run is watched over its steps: a row each. The run log's keys, its CSV, the dashboard's API with its
// description, its curves and CSV, Prometheus's gauges and TensorBoard's scalars follow from it. A new one is a row
// here, a value in metrics_line, and whoever fills that in.
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string_view>
#include <variant>

#include "run/artifacts/metrics.hpp"

namespace rldp::eval {

enum class quantity : std::size_t {
    loss,
    noise_multiplier,
    mean_radius,
    epsilon_spent,
    perplexity,
    value_nats,
    value_token_nats,
    accuracy,
    rate_factor,
    trust
};

/// Which lines of the run log have it.
enum class moment {
    step,       ///< each step's own
    price,      ///< those that know up to which step ε was priced (metrics_line::progress)
    evaluation  ///< those of steps after which held-out units were looked at
};

struct quantity_row {
    quantity which;
    std::string_view name;    ///< in the dashboard's API and CSV
    std::string_view column;  ///< in the run log's CSV; and in the run log, where it is a field of its own
    std::string_view title;   ///< of its curve
    std::string_view help;    ///< a sentence, with the unit
    std::string_view gauge;   ///< Prometheus's name
    std::string_view tag;     ///< TensorBoard's name
    moment when;
    /// How its curve is drawn: noisy values as dots, stepwise ones without a line to the next.
    bool is_logarithmic = false, is_stepwise = false, is_noisy = false;
    /// A field of the line's own, or made from the line.
    std::variant<std::optional<double> metrics_line::*, std::optional<double> (*)(const metrics_line&)> source;
    /// Where that lies with 95 %, of what carries noise.
    std::optional<interval> metrics_line::*within = nullptr;

    /// Null where it is made from the line.
    std::optional<double> metrics_line::*field() const {
        const auto* own = std::get_if<0>(&source);
        return own ? *own : nullptr;
    }
    std::optional<double> value_in(const metrics_line& line) const {
        return field() ? line.*field() : std::get<1>(source)(line);
    }
    std::optional<interval> interval_in(const metrics_line& line) const { return within ? line.*within : std::nullopt; }
};

/// In the order of `quantity`.
inline constexpr std::array quantities = {
    quantity_row{.which = quantity::loss,
                 .name = "loss",
                 .column = "loss_released",
                 .title = "Training loss as released",
                 .help = "Mean token loss as released, with its noise, in nats.",
                 .gauge = "rldp_loss_released_nats",
                 .tag = "loss/released",
                 .when = moment::step,
                 .is_noisy = true,
                 .source = &metrics_line::loss_released},
    quantity_row{.which = quantity::noise_multiplier,
                 .name = "noise_multiplier",
                 .column = "noise_multiplier",
                 .title = "Noise multiplier",
                 .help = "Noise multiplier of the last step.",
                 .gauge = "rldp_noise_multiplier",
                 .tag = "privacy/noise_multiplier",
                 .when = moment::step,
                 .is_stepwise = true,
                 .source = [](const metrics_line& line) -> std::optional<double> {
                     if (line.radii.empty()) return std::nullopt;  // it is an evaluation alone
                     return line.noise_multiplier;
                 }},
    quantity_row{.which = quantity::mean_radius,
                 .name = "mean_radius",
                 .column = "mean_radius",
                 .title = "Clip radius, mean of the adapters",
                 .help = "Mean of the adapters' clip radii at the last step.",
                 .gauge = "rldp_clip_radius_mean",
                 .tag = "clip/mean_radius",
                 .when = moment::step,
                 .is_logarithmic = true,
                 .is_stepwise = true,
                 .source = [](const metrics_line& line) -> std::optional<double> {
                     if (line.radii.empty()) return std::nullopt;
                     return std::accumulate(line.radii.begin(), line.radii.end(), 0.0) /
                            static_cast<double>(line.radii.size());
                 }},
    quantity_row{.which = quantity::epsilon_spent,
                 .name = "progress_epsilon",
                 .column = "progress_epsilon",
                 .title = "ε so far, no guarantee",
                 .help = "Epsilon of the steps so far; for orientation, no guarantee.",
                 .gauge = "rldp_epsilon_progress",
                 .tag = "privacy/progress_epsilon",
                 .when = moment::price,
                 .source = [](const metrics_line& line) -> std::optional<double> {
                     if (line.progress.step <= 0) return std::nullopt;
                     return line.progress.epsilon;
                 }},
    quantity_row{.which = quantity::perplexity,
                 .name = "perplexity",
                 .column = "eval_perplexity",
                 .title = "Held-out perplexity",
                 .help = "Held-out perplexity of the last evaluation.",
                 .gauge = "rldp_perplexity",
                 .tag = "held_out/perplexity",
                 .when = moment::evaluation,
                 .is_logarithmic = true,
                 .source = &metrics_line::eval_perplexity,
                 .within = &metrics_line::eval_perplexity_in},
    quantity_row{.which = quantity::value_nats,
                 .name = "value_nats",
                 .column = "eval_value_nats",
                 .title = "Nats on a record's values",
                 .help = "Nats that a held-out record's values cost, of the last evaluation.",
                 .gauge = "rldp_value_nats",
                 .tag = "held_out/value_nats",
                 .when = moment::evaluation,
                 .source = &metrics_line::eval_value_nats},
    quantity_row{.which = quantity::value_token_nats,
                 .name = "value_token_nats",
                 .column = "eval_value_token_nats",
                 .title = "Nats on a token of a value",
                 .help = "Nats that a token of held-out records' values costs, of the last evaluation.",
                 .gauge = "rldp_value_token_nats",
                 .tag = "held_out/value_token_nats",
                 .when = moment::evaluation,
                 .source = &metrics_line::eval_value_token_nats,
                 .within = &metrics_line::eval_value_token_nats_in},
    quantity_row{.which = quantity::accuracy,
                 .name = "accuracy",
                 .column = "eval_accuracy",
                 .title = "Share of held-out answers that are right",
                 .help = "Share of held-out records whose target is predicted, of the last evaluation.",
                 .gauge = "rldp_accuracy_ratio",
                 .tag = "held_out/accuracy",
                 .when = moment::evaluation,
                 .source = &metrics_line::eval_accuracy,
                 .within = &metrics_line::eval_accuracy_in},
    quantity_row{.which = quantity::rate_factor,
                 .name = "rate_factor",
                 .column = "lr_factor",
                 .title = "Learning rate, factor of the schedule's",
                 .help = "What a controller multiplies the schedule's learning rate by.",
                 .gauge = "rldp_rate_factor",
                 .tag = "controller/rate_factor",
                 .when = moment::step,
                 .is_logarithmic = true,
                 .is_stepwise = true,
                 .source = [](const metrics_line& line) -> std::optional<double> {
                     if (!line.steered) return std::nullopt;
                     return line.steered->lr_factor;
                 }},
    quantity_row{.which = quantity::trust,
                 .name = "trust",
                 .column = "trust",
                 .title = "How much of the controller's net acts",
                 .help = "Share, 0 to 1, of what a net adds to a rule that acts.",
                 .gauge = "rldp_controller_trust_ratio",
                 .tag = "controller/trust",
                 .when = moment::step,
                 .source = [](const metrics_line& line) -> std::optional<double> {
                     if (!line.steered) return std::nullopt;
                     return line.steered->trust;
                 }}};

namespace detail {
constexpr bool stand_in_order() {
    for (std::size_t i = 0; i < quantities.size(); ++i)
        if (quantities[i].which != static_cast<quantity>(i)) return false;
    return quantities.back().which == quantity::trust;  // the last
}
static_assert(stand_in_order(), "a quantity has one row, where its number says");
}  // namespace detail

/// A value of each quantity; NaN where there is none yet.
class measurements {
  public:
    struct measurement {
        double value = std::numeric_limits<double>::quiet_NaN();
        std::optional<interval> within = {};  ///< with 95 %, of what carries noise
    };
    measurement& operator[](quantity which) { return all_[static_cast<std::size_t>(which)]; }
    const measurement& operator[](quantity which) const { return all_[static_cast<std::size_t>(which)]; }

  private:
    std::array<measurement, quantities.size()> all_;
};

}  // namespace rldp::eval
