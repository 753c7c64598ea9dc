#include "monitor/terminal/terminal.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rldp::monitor {

namespace {

/// Columns of UTF-8 text whose characters are all one column wide.
std::size_t columns(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string bar(double done, std::size_t width) {
    const auto full = static_cast<std::size_t>(std::lround(std::clamp(done, 0.0, 1.0) * static_cast<double>(width)));
    std::string out;
    for (std::size_t i = 0; i < width; ++i) out += i < full ? "█" : "░";
    return out;
}

}  // namespace

void time_left::observe(const monitor::telemetry& seen, clock::time_point now) {
    if (first_step_ < 0 || seen.step < step_) {
        first_step_ = seen.step;
        first_ = now;
    }
    step_ = seen.step;
    steps_ = seen.steps;
    last_ = now;
}

std::optional<std::chrono::seconds> time_left::estimate() const {
    if (first_step_ < 0 || step_ <= first_step_) return std::nullopt;
    const double per_step =
        std::chrono::duration<double>(last_ - first_).count() / static_cast<double>(step_ - first_step_);
    return std::chrono::seconds(std::llround(per_step * static_cast<double>(steps_ - step_)));
}

std::string progress_line(const monitor::telemetry& seen, std::optional<std::chrono::seconds> left, std::size_t width) {
    const auto or_dash = [](double x) { return std::isfinite(x) ? fmt::format("{:.3f}", x) : std::string("–"); };
    std::string text = fmt::format(" step {}/{}  loss {}  ε ~{:.2f} of {:.2f} {}", seen.step, seen.steps,
                                   or_dash(seen.loss), seen.progress_epsilon, seen.epsilon,
                                   std::isfinite(seen.guaranteed_epsilon) ? "guaranteed" : "NO GUARANTEE");
    if (std::isfinite(seen.perplexity))
        text += fmt::format("  perplexity {} at {}", or_dash(seen.perplexity), seen.evaluated_step);
    if (seen.state == "stopping")
        text += "  stopping; once more ends it at once";
    else if (seen.state != "running")
        text += "  " + seen.state;
    else if (left)
        text += fmt::format("  {:%H:%M:%S} left", *left);
    constexpr std::size_t least_bar = 8, most_bar = 30;
    const auto used = columns(seen.run) + 1 + columns(text);
    if (used + least_bar > width) return seen.run + text;
    const double done = seen.steps > 0 ? static_cast<double>(seen.step) / static_cast<double>(seen.steps) : 0;
    return seen.run + " " + bar(done, std::min(most_bar, width - used)) + text;
}

}  // namespace rldp::monitor
