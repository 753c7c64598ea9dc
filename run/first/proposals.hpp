#pragma once
// `rldp plan`: how a budget of work is best divided into steps.
#include <cstdint>
#include <optional>
#include <vector>

#include "run/plan.hpp"

namespace rldp::actors {

/// One division of a budget: as many units drawn in expectation as every other, B·steps.
struct proposal {
    std::int64_t expected_batch_size = 0, steps = 0;
    /// The configuration's, as the same share of the steps, or chosen; none where rl.controller brings a schedule.
    std::optional<std::int64_t> warmup;
    std::optional<std::int64_t> decay;  ///< likewise
    std::int64_t bands = 1;             ///< of the noise
    /// Units that a step computes: more than the batch where steps are padded.
    std::int64_t computed = 0;
    double noise_multiplier = 0;  ///< z_0 of the configuration's contract
    double noise_per_unit = 0;    ///< z_0 / B: the noise in the mean of B gradients, in clip radii
};

/// What a budget of units counts.
enum class counted : std::uint8_t { drawn, computed };

/// For so many units in all: batches of powers of two from 16, as far as the population, at least eight steps and the
/// method allow; the rest is the configuration's. Errors: bad_input where not even the smallest batch fits.
std::vector<proposal> proposals(const config::run_config& config, std::int64_t population, std::int64_t units,
                                counted of = counted::drawn);

/// The one of the least noise that leaves enough steps, else the one of the most steps: with B·steps given, z_0 / B
/// falls as the batch grows.
const proposal& choose_best(const std::vector<proposal>& all);

/// Seconds that one unit's gradients take here, measured on as many made-up records, of as many tokens, as a unit may
/// have, for a run on `population` units: the best of two passes over some. Nothing where one process may not hold the
/// whole base. Errors: as step_gradients.
std::optional<double> seconds_per_unit(const config::run_config& config, std::int64_t population);

inline constexpr double an_hour = 3600;  // seconds

/// What a plan takes here, where every unit has as many records, each as long, as it may have.
struct plan_time {
    models::unit_shape largest;
    double units = 0;  ///< that a step computes, in expectation
    double seconds_per_unit = 0, seconds = 0;
    /// Where units have the shape that was asked about; private as that is. Not where every one is padded.
    std::optional<double> usual_seconds;
    std::optional<proposal> of_an_hour;  ///< where the plan takes longer, and an hour is enough for any
};
/// In a second, or as long as a large model takes for a unit. Nothing where one process may not hold the whole base.
/// Errors: as step_gradients.
std::optional<plan_time> estimate_time(const config::run_config& config, const run_plan& plan,
                                       const std::optional<models::unit_shape>& usual = {});

}  // namespace rldp::actors
