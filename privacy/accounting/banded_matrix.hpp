#pragma once
// The matrix by which noise is correlated over steps (docs/privacy.md §14): lower triangular, Toeplitz, of b bands, its
// columns of norm 1. Step t gets (C⁻¹z)_t for independent z, so that what a model adds up over steps, A·C⁻¹z with A the
// prefix sums, has less noise than A·z.
#include <cstdint>
#include <vector>

namespace rldp::privacy {

/// Coefficients c_0, …, c_{b−1} of C, whose squares add up to 1: C has c_{i−j} in row i, column j, where 0 ≤ i − j < b.
using band_coefficients = std::vector<double>;

/// Those of the square root of A, cut to b bands: c_j ∝ C(2j, j)/4^j (Fichtenberger, Henzinger, Upadhyay 2023; cut:
/// Kalinin, Lampert 2024).
band_coefficients make_square_root_bands(std::int64_t bands);

/// Those with the least mean squared error of the prefix sums of `steps` steps, as far as a quasi-Newton descent from
/// the square root's finds them: never worse than these.
band_coefficients find_best_bands(std::int64_t bands, std::int64_t steps);

/// Those of a run: the square root's, or the best where their mean squared error is at least 3 % less. The square
/// root's where bands times steps are above 2·10⁷, for a search would take minutes.
band_coefficients make_bands(std::int64_t bands, std::int64_t steps);

/// Variance of what noise A·C⁻¹z adds to the sum over the first t steps, for z of variance 1.
struct prefix_error {
    double mean_squared;  ///< mean over t = 1, …, steps; (steps + 1)/2 for independent noise
    double last_squared;  ///< at t = steps, where it is largest; steps for independent noise
};
prefix_error compute_prefix_error(const band_coefficients& bands, std::int64_t steps);

/// Variance of (C⁻¹z)_t for z of variance 1, far into a block of C: what a single step's noise has over independent
/// noise. 1 for one band, else more.
double compute_step_variance(const band_coefficients& bands, std::int64_t steps);

}  // namespace rldp::privacy
