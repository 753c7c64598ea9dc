#include "app/torch/plan_time.hpp"

#include <fmt/format.h>

#include "config/open_keys.hpp"

namespace rldp::app {

namespace {

std::string format_override(const char* key, const std::optional<std::int64_t>& value) {
    return value ? fmt::format(" --set {}={}", key, *value) : "";
}

std::string in_round_figures(double seconds) {
    if (seconds < 100) return fmt::format("{:.2g} s", seconds);
    if (seconds < 100 * 60) return fmt::format("{:.0f} min", seconds / 60);
    if (seconds < 48 * 3600) return fmt::format("{:.2g} h", seconds / 3600);
    return fmt::format("{:.0f} days", seconds / 86400);
}

}  // namespace

std::string format_settings(const actors::proposal& one) {
    return fmt::format("--set train.expected_batch_size={} --set train.steps={}{}{}", one.expected_batch_size,
                       one.steps, format_override("train.warmup", one.warmup), format_override("train.decay", one.decay));
}

void print_time(const actors::plan_time& found, const actors::run_plan& plan,
                const std::function<void(const std::string& name, const std::string& value)>& row) {
    row("time here, at most",
        fmt::format("about {}: {} for a unit of {} tokens in each record, some {:.0f} units a step",
                    in_round_figures(found.seconds), in_round_figures(found.seconds_per_unit), plan.max_tokens,
                    plan.sample_rate * static_cast<double>(plan.population)));
    if (found.of_an_hour)
        row("in an hour", format_settings(*found.of_an_hour) +
                              (found.of_an_hour->steps < config::least_steps ? "  (too few steps to learn much)" : ""));
    else if (found.seconds > actors::an_hour)
        row("in an hour", "no plan; take a smaller model, a smaller data.max_tokens or a GPU");
}

}  // namespace rldp::app
