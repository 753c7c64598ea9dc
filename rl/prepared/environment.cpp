#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.hpp"
#include "rl/prepared/environment.hpp"

namespace rldp::rl {

policy_action neutral(std::size_t adapters) {
    return {.rates = std::vector<double>(adapters)};
}

policy_action within_limits(policy_action wish) {
    wish.rate = std::clamp(wish.rate, -rate_limit, rate_limit);
    for (double& rate : wish.rates) rate = std::clamp(rate, -own_rate_limit, own_rate_limit);
    return wish;
}

void check_action(const policy_action& chosen, std::size_t adapters) {
    require(chosen.rates.size() == adapters, "a task: a move for another number of adapters");
    const auto limited = within_limits(chosen);
    require(limited.rate == chosen.rate && limited.rates == chosen.rates, "a task: a move beyond its limits");
}

double compute_noise_level(double noise_multiplier, double numbers, double batch) {
    return std::log(std::max(noise_multiplier, 1e-9) * std::sqrt(numbers) / batch);
}

rate_schedule make_rate_schedule(const rate_line& line, double mean_rate, std::int64_t steps) {
    const double mean = mean_rate * std::exp(line.log_rate);
    return {.shape = rate_shape::linear,
            .peak = mean * (1 - line.tilt),
            .last = mean * (1 + line.tilt),
            .steps = steps,
            .warmup = steps / 20};
}

rate_line schedule::settle(const known_plan& plan) const {
    // Among the plans that are usual, so that what it gains per unit moves the usual rate little.
    constexpr double usual_steps = 100, usual_noise = -1, usual_adapters = 6;
    const double log_factor = numbers[log_rate] + numbers[per_noise] * (plan.noise - usual_noise) +
                              numbers[per_steps] * std::log(static_cast<double>(plan.steps) / usual_steps) +
                              numbers[per_adapters] * std::log(static_cast<double>(plan.adapters) / usual_adapters) +
                              numbers[per_bands] * std::log(static_cast<double>(plan.bands));
    return {std::clamp(log_factor, -rate_limit, rate_limit), numbers[tilt], numbers[tail]};
}

policy_action rule::operator()(const policy_observation& seen) const {
    policy_action out = neutral(seen.adapters.size());
    out.rate = seen.global[of_run::rate];
    if (!seen.scored) return out;
    const double before = std::max(std::expm1(seen.global[of_run::scores]) - 1, 0.0);
    const double answer = std::tanh(seen.global[of_run::score] / numbers[softness]) - numbers[aim];
    out.rate += numbers[gain] / (1 + numbers[settle] * numbers[settle] * before) * answer;
    return within_limits(std::move(out));
}

namespace {

constexpr double aims_per_step = 0.2;
constexpr double most = 5;      // of a number that nothing holds back: a search walks far along one that does nothing
constexpr double most_log = 2;  // of a log: a factor of seven

double limit(double value, double to) {
    return std::clamp(value, -to, to);
}

double logistic(double x) {
    return 1 / (1 + std::exp(-x));
}

}  // namespace

rule rule_at(std::span<const double> point) {
    require(point.size() == rule::count, "a rule is four numbers");
    return {{std::exp(limit(point[rule::gain], most_log)), limit(point[rule::settle], most),
             aims_per_step * limit(point[rule::aim], most), std::exp(limit(point[rule::softness], most_log))}};
}

std::vector<double> to_point(const rule& how) {
    const auto& of = how.numbers;
    return {std::log(std::max(of[rule::gain], 1e-3)), of[rule::settle], of[rule::aim] / aims_per_step,
            std::log(of[rule::softness])};
}

schedule schedule_at(std::span<const double> point) {
    require(point.size() == schedule::count, "a schedule is seven numbers");
    schedule out;
    std::transform(point.begin(), point.end(), out.numbers.begin(), [](double value) { return limit(value, most); });
    out.numbers[schedule::tilt] = std::tanh(point[schedule::tilt]);
    out.numbers[schedule::tail] = std::max(0.01, 0.5 * logistic(point[schedule::tail]));
    return out;
}

std::vector<double> to_point(const schedule& fixed) {
    std::vector<double> out(fixed.numbers.begin(), fixed.numbers.end());
    const double part = std::clamp(2 * fixed.numbers[schedule::tail], 0.02, 0.98);
    out[schedule::tilt] = std::atanh(std::clamp(fixed.numbers[schedule::tilt], -0.99, 0.99));
    out[schedule::tail] = std::log(part / (1 - part));
    return out;
}

double timetable::at(double time) const {
    const auto pieces = static_cast<double>(log_rates.size() - 1);
    const double place = std::clamp(time, 0.0, 1.0) * pieces;
    const double begin = std::min(std::floor(place), pieces - 1);
    const auto k = static_cast<std::size_t>(begin);
    return std::lerp(log_rates[k], log_rates[k + 1], place - begin);
}

policy_action timetable::operator()(const policy_observation& seen) const {
    policy_action out = neutral(seen.adapters.size());
    out.rate = at(seen.global[of_run::time]);
    return within_limits(std::move(out));
}

timetable timetable_at(std::span<const double> point) {
    timetable out;
    require(point.size() == out.log_rates.size(), "a timetable is eleven numbers");
    std::copy(point.begin(), point.end(), out.log_rates.begin());
    return out;
}

timetable to_timetable(std::span<const std::pair<double, double>> set) {
    require(!set.empty(), "a timetable of nothing that was set");
    timetable out;
    const auto pieces = static_cast<double>(out.log_rates.size() - 1);
    for (std::size_t k = 0; k < out.log_rates.size(); ++k) {
        const auto later = std::find_if(set.begin() + 1, set.end(),
                                        [&](const auto& one) { return one.first > static_cast<double>(k) / pieces; });
        out.log_rates[k] = std::prev(later)->second;
    }
    return out;
}

timetable mean_of(std::span<const timetable> all) {
    require(!all.empty(), "a mean of no timetable");
    timetable out;
    for (const auto& one : all)
        for (std::size_t k = 0; k < one.log_rates.size(); ++k)
            out.log_rates[k] += one.log_rates[k] / static_cast<double>(all.size());
    return out;
}

}  // namespace rldp::rl
