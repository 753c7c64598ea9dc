#pragma once
// What noise in b bands costs, when it may be used, and how many bands are worth it (docs/privacy.md §14).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "privacy/accounting/accountant.hpp"
#include "privacy/accounting/banded_matrix.hpp"

namespace rldp::privacy {

/// A plan with the same noise at every step.
struct banded_plan {
    double sample_rate;                           ///< q: expected batch size over population
    std::int64_t steps;                           ///< T
    std::optional<std::int64_t> population = {};  ///< N; groups are not looked at where it is not given
    std::int64_t runs = 1;                        ///< of this plan that a budget pays for together (§15)
};

/// A group of fewer units, expected, is refused: a step's draw would be the same few again and again.
inline constexpr std::int64_t least_units_of_a_group = 10;
/// No more bands are chosen where nobody asks for them.
inline constexpr std::int64_t most_chosen_bands = 8;

/// No more bands, and no bands for more steps, for C is worked out in b·T steps.
inline constexpr std::int64_t most_bands = 1024, most_banded_steps = 1'000'000;

/// The most bands that the plan admits.
std::int64_t find_most_bands(const banded_plan& plan);
/// Errors: bad_input for a number of bands that is not positive, above that of the steps or most_bands, at which a step
/// would draw a unit of its group with a probability above 1, or whose groups are too small. `key`: what the user calls
/// them.
void check_bands(std::int64_t bands, const banded_plan& plan, std::string_view key = "noise.bands");

/// The rate at which a step draws from its group: b·q, at most 1.
double compute_group_rate(std::int64_t bands, double sample_rate);
/// A plan's phase in b bands: ⌈T/b⌉ rounds, each a subsampled Gaussian of rate b·q (Choquette-Choo et al. 2023, theorem
/// 4). `steps` may be a part of the plan's: the first so many.
phase to_rounds(std::int64_t bands, double noise_multiplier, double sample_rate, std::int64_t steps);

/// Noise in b bands within a budget.
struct banded_noise {
    std::int64_t bands;
    calibration noise;  ///< the least multiplier, and what it composes to
    double left;        ///< RMS of the noise in prefix sums, over that of independent noise at its own price
};
/// Errors: bad_input as check_bands() and calibrate().
banded_noise calibrate_bands(const accountant& with, std::int64_t bands, const banded_plan& plan, double epsilon,
                             double delta);

/// How many bands a plan gets that leaves them open, and why, as a sentence without its end.
struct bands_choice {
    std::int64_t bands;
    double left;  ///< as banded_noise
    std::string reason;
};
/// Of 2, 4 and 8 the least that takes 5 % of the noise in prefix sums, doubled as long as that takes another 14 %; 1
/// where none does (docs/privacy.md §14). Errors: bad_input as calibrate().
bands_choice choose_bands(const accountant& with, const banded_plan& plan, double epsilon, double delta);

}  // namespace rldp::privacy
