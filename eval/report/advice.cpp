#include "eval/report/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "config/open_keys.hpp"

namespace rldp::eval {

namespace {

/// Whether adapters are on attention alone, as they are by default.
bool adapts_attention_alone(const std::string& config_json) {
    const auto all = nlohmann::json::parse(config_json, nullptr, false);
    const auto at = [&](const char* pointer) {
        const nlohmann::json::json_pointer where(pointer);
        return all.contains(where) ? all.at(where) : nlohmann::json();
    };
    const auto targets = at("/lora/targets");
    if (!targets.is_array() || !at("/train/parameters").is_null()) return false;
    constexpr std::array<std::string_view, 8> attention{"q", "k", "v", "o", "q_proj", "k_proj", "v_proj", "o_proj"};
    return std::all_of(targets.begin(), targets.end(), [&](const auto& one) {
        return std::find(attention.begin(), attention.end(), one) != attention.end();
    });
}

/// z/B, the noise in the mean of a batch, in clip radii.
double noise_per_unit(const run_summary& s, const std::vector<metrics_line>& metrics) {
    double most = 0;
    for (const auto& line : metrics) most = std::max(most, line.noise_multiplier);
    return most / (s.sample_rate * static_cast<double>(s.units));
}

/// Whether the last look saw a lower loss than the one before, beyond what noise does to the two.
bool still_fell(const std::vector<metrics_line>& metrics) {
    std::vector<const metrics_line*> looks;
    for (const auto& line : metrics)
        if (line.eval_perplexity && *line.eval_perplexity > 0) looks.push_back(&line);
    if (looks.size() < 2) return false;
    const auto &last = *looks.back(), &before = *looks[looks.size() - 2];
    if (last.eval_perplexity_in && before.eval_perplexity_in)
        return last.eval_perplexity_in->high < before.eval_perplexity_in->low;
    constexpr double visible = 0.02;  // nats per token
    return std::log(*before.eval_perplexity) - std::log(*last.eval_perplexity) > visible;
}

constexpr std::int64_t million = 1'000'000;

}  // namespace

std::string advise_next(const run_summary& s, const std::vector<metrics_line>& metrics, const std::string& config_json) {
    if (s.how == ending::interrupted) return "go on with it: rldp run --resume";
    if (s.steps_done < config::least_steps)
        return fmt::format(
            "more steps: {} are few, and below {} steps and not noise are short; give train.steps, or leave it out, "
            "and "
            "rldp plan --minutes fits a budget of time",
            s.steps_done, config::least_steps);
    if (s.base_parameters > 0 && s.base_parameters < 50 * million)
        return fmt::format(
            "a larger model: one of {:.1f} million parameters learns what records look like and little of how their "
            "values hang together, and noise does not grow with the frozen part (rldp models)",
            static_cast<double>(s.base_parameters) / million);
    if (adapts_attention_alone(config_json))
        return "adapters on all linear modules, lora.targets [\"all-linear\"], where memory allows: worth more than "
               "any "
               "method where it was measured";
    constexpr double loud = 0.02;
    if (const auto noise = noise_per_unit(s, metrics); noise > loud)
        return fmt::format(
            "more units, or a larger epsilon where it may be: noise of {:.2g} clip radii for each unit of a batch "
            "drowns "
            "most of what they say",
            noise);
    if (still_fell(metrics))
        return "more steps: the held-out loss still fell at the last look; rldp plan --minutes fits a budget of time";
    if (s.base_parameters > 0 && s.base_parameters < 1000 * million)
        return "a larger model, as far as memory and time allow (rldp check says both)";
    return "nothing that docs/choosing.md knows of";
}

}  // namespace rldp::eval
