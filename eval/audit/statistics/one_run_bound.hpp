#pragma once
// A lower bound on ε from one training run: Steinke, Nasr, Jagielski (2023), "Privacy Auditing with One (1) Training
// Run", arXiv 2305.08846. Every canary is included by a fair coin of its own, the auditor guesses some of the coins.
// With the variant for a Gaussian's whole trade-off curve: Mahloujifar, Melis, Chaudhuri (2024), "Auditing
// f-Differential Privacy in One Run", arXiv 2410.22235.
#include <cstdint>
#include <vector>

namespace rldp::eval {

/// Of `canaries` coins, `guesses` were guessed (the others abstained from), `correct` of them rightly. How many are
/// guessed must be fixed before any coin is seen. Valid: correct ≤ guesses ≤ canaries, canaries ≥ 1.
struct one_run_audit {
    std::int64_t canaries = 0, guesses = 0, correct = 0;
};

/// p: under (ε, δ)-differential privacy so many correct guesses have at most this probability (the main theorem).
/// In [0, 1]. Errors: bad_input for an invalid audit, ε that is negative or not finite, δ outside of [0, 1).
double one_run_p_value(const one_run_audit& seen, double epsilon, double delta);

/// The largest ε (to 1e-9, rounded down) that the audit rejects at level β, so that with confidence 1 − β the run is
/// not (ε, δ)-private for any smaller one; 0 where not even ε = 0 is rejected. Takes time linear in `guesses`. Errors:
/// as above, and β outside of (0, ½).
double epsilon_lower_bound(const one_run_audit& seen, double delta, double beta);

/// The largest μ (to 1e-9, rounded down) such that the audit rejects μ-Gaussian differential privacy at level β; 0
/// where it rejects none. One (ε, δ) allows attacks that Gaussian noise does not, so of a run whose trade-off curve is
/// a Gaussian's this tells more; of another run, nothing. Takes time linear in `guesses`. Errors: as above.
double mu_lower_bound(const one_run_audit& seen, double beta);

/// Guesses "in" for the half of `guesses` with the highest scores and "out" for the half with the lowest, and counts
/// what is right. Of equal scores the one with the higher index counts as higher, so the order of canaries must not
/// depend on the coins. Errors: bad_input for sizes that differ, a score that is infinite or NaN, `guesses` that is odd
/// or not within 0 and the number of canaries.
one_run_audit guess_by_score(const std::vector<double>& scores, const std::vector<bool>& included,
                             std::int64_t guesses);

}  // namespace rldp::eval
