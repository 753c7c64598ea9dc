#pragma once
// Gaussian differential privacy (Dong, Roth, Su 2022): exact for one Gaussian mechanism, a central limit for many
// subsampled ones, which can under-report.
#include <memory>
#include <span>

#include "privacy/accounting/accountant.hpp"

namespace rldp::privacy {

std::unique_ptr<accountant> make_gdp_clt();

/// δ of a μ-GDP mechanism at ε: Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ).
double gaussian_delta(double mu, double epsilon);

/// μ of the central limit, q·sqrt(Σ_t (e^{1/z_t²} − 1)); +inf where it overflows.
double central_limit_mu(std::span<const phase> phases);

/// How as_published turns phases into ε.
enum class published_formula {
    central_limit,  ///< gdp_clt: e^{1/z²} − 1 per step, as Dong et al. have it
    printed,  ///< q·√t·(e^{1/σ} − 1) with the current (last) σ for all t steps, as the publication prints it
};
/// ε at δ under either reading. No guarantee. Errors: bad_input as accountant::epsilon.
double published_epsilon(published_formula formula, std::span<const phase> phases, double delta);

}  // namespace rldp::privacy
