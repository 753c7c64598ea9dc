#pragma once
// The price of looking at held-out units (docs/privacy.md §13). A unit lies on one side of the split by a hash of
// itself alone, so one more unit changes either what training releases or what looks release, never both; each side may
// depend on the other's releases. Priced apart at the same (ε, δ), both together are (ε, δ) for every unit of the file.
#include <cstdint>

namespace rldp::privacy {

/// What a run commits to before its first look.
struct look_plan {
    std::int64_t count = 0;       ///< looks at most
    double noise_multiplier = 0;  ///< of each, over the L2 norm of what a unit adds
    bool operator==(const look_plan&) const = default;
};

/// ε at δ of all of them: Gaussians without subsampling, hence exactly μ-GDP with μ² = count/z² (Dong, Roth, Su 2022,
/// corollary 2). 0 without looks. Errors: bad_input for δ outside (0, 1).
double compute_epsilon(const look_plan& looks, double delta);

/// The least noise multiplier at which `count` looks, at least one, cost at most ε at δ, from the safe side.
double noise_of_looks(std::int64_t count, double epsilon, double delta);

}  // namespace rldp::privacy
