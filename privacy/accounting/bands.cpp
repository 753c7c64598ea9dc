#include "privacy/accounting/bands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"

namespace rldp::privacy {

namespace {

/// b·q ≤ 1 up to the rounding of B/N and the product.
bool is_a_rate(double rate) {
    return rate <= 1 + 1e-12;
}

std::int64_t count_rounds(std::int64_t bands, std::int64_t steps) {
    return (steps + bands - 1) / bands;
}

}  // namespace

std::int64_t find_most_bands(const banded_plan& plan) {
    require(plan.sample_rate >= 0 && plan.sample_rate <= 1 && plan.steps >= 1, "bands: a plan out of range");
    if (plan.steps > most_banded_steps) return 1;
    std::int64_t most = std::min(plan.steps, most_bands);
    if (plan.population) most = std::min(most, *plan.population / least_units_of_a_group);
    most = static_cast<std::int64_t>(std::min(static_cast<double>(most), 1 / plan.sample_rate + 1));
    while (most > 1 && !is_a_rate(static_cast<double>(most) * plan.sample_rate)) --most;
    return std::max<std::int64_t>(most, 1);
}

void check_bands(std::int64_t bands, const banded_plan& plan, std::string_view key) {
    refuse_unless(bands >= 1, fmt::format("{}: {} of them; give at least 1, which is independent noise", key, bands));
    if (bands == 1) return;
    const auto most = find_most_bands(plan);
    if (bands > plan.steps)
        refuse(fmt::format("{}: {} are more than the {} steps; give at most {}", key, bands, plan.steps, most));
    if (plan.steps > most_banded_steps)
        refuse(fmt::format("{}: {} steps are more than the {} that noise is correlated over; give 1", key, plan.steps,
                           most_banded_steps));
    if (bands > most_bands)
        refuse(fmt::format("{}: {} are more than {}; give at most {}", key, bands, most_bands, most));
    const double rate = static_cast<double>(bands) * plan.sample_rate;
    if (!is_a_rate(rate))
        refuse(fmt::format(
            "{}: {} groups at sample rate {:.6g} would be drawn from with probability {:.6g}, above 1; give "
            "at most {}, or a smaller expected batch size",
            key, bands, plan.sample_rate, rate, most));
    if (plan.population && *plan.population < bands * least_units_of_a_group)
        refuse(fmt::format("{}: {} groups of {} units have fewer than {} units each, expected; give at most {}", key,
                           bands, *plan.population, least_units_of_a_group, most));
}

double compute_group_rate(std::int64_t bands, double sample_rate) {
    return std::min(1.0, static_cast<double>(bands) * sample_rate);
}

phase to_rounds(std::int64_t bands, double noise_multiplier, double sample_rate, std::int64_t steps) {
    return {noise_multiplier, compute_group_rate(bands, sample_rate), count_rounds(bands, steps)};
}

banded_noise calibrate_bands(const accountant& with, std::int64_t bands, const banded_plan& plan, double epsilon,
                             double delta) {
    check_bands(bands, plan);
    const auto calibrated = [&](std::int64_t of) {
        auto rounds = to_rounds(of, 1, plan.sample_rate, plan.steps);
        rounds.steps *= plan.runs;
        return calibrate(with, {&rounds, 1}, epsilon, delta);
    };
    const auto noise = calibrated(bands);
    if (bands == 1) return {bands, noise, 1};
    const auto error = compute_prefix_error(make_bands(bands, plan.steps), plan.steps).mean_squared;
    const auto independent = compute_prefix_error({1}, plan.steps).mean_squared;
    return {bands, noise, noise.noise_multiplier / calibrated(1).noise_multiplier * std::sqrt(error / independent)};
}

bands_choice choose_bands(const accountant& with, const banded_plan& plan, double epsilon, double delta) {
    constexpr double least_gain = 0.05, gain_of_a_doubling = 0.14;  // one of 13.5 % measured no better
    const auto percent = [](double left) { return fmt::format("{:.0f} %", 100 * (1 - std::min(left, 1.0))); };
    const auto most = std::min(most_chosen_bands, find_most_bands(plan));
    if (most < 2) return {1, 1, "two groups would be too small, or drawn from with a probability above 1"};
    std::vector<banded_noise> tried;  // 2, 4 and 8
    for (std::int64_t bands = 2; bands <= most; bands *= 2)
        tried.push_back(calibrate_bands(with, bands, plan, epsilon, delta));
    auto chosen = std::find_if(tried.begin(), tried.end(), [](const auto& one) { return one.left <= 1 - least_gain; });
    if (chosen == tried.end()) {
        const auto best =
            std::min_element(tried.begin(), tried.end(), [](const auto& a, const auto& b) { return a.left < b.left; });
        return {1, 1,
                fmt::format("{} bands would take {} of the noise that the model adds up, at an equal budget: less than "
                            "{:.0f} %, which is not worth it",
                            best->bands, percent(best->left), 100 * least_gain)};
    }
    while (chosen + 1 != tried.end() && (chosen + 1)->left <= (1 - gain_of_a_doubling) * chosen->left) ++chosen;
    const auto why_no_more =
        chosen + 1 == tried.end()
            ? fmt::format("no more than {} are chosen{}", chosen->bands,
                          chosen->bands < most_chosen_bands ? " for this plan" : "")
            : fmt::format("{} would take {}, a step that is too small to pay (single steps get noisier)",
                          (chosen + 1)->bands, percent((chosen + 1)->left));
    return {chosen->bands, chosen->left,
            fmt::format("they take {} of the noise that the model adds up, at an equal budget; {}",
                        percent(chosen->left), why_no_more)};
}

}  // namespace rldp::privacy
