#pragma once
// The likelihood ratio attack: Carlini, Chien, Nasr, Song, Terzis, Tramèr (2022), "Membership Inference Attacks From
// First Principles". Scores are the higher, the more member-like.
#include <optional>
#include <vector>

namespace rldp::eval {

/// φ = log p − log(1 − p) with p = exp(−mean_nll), in nats per token. Errors: bad_input unless finite and above 0.
double log_odds(double mean_nll);

/// A model trained as the target was, on a random part of the examples.
struct shadow_model {
    std::vector<double> phi;       ///< of every example
    std::vector<bool> trained_on;  ///< whether the example was in its training
};

// Centres are medians of an example's values over the shadows that trained on it (in) or did not (out). With up to 64
// shadows, too few to tell every example's variance, all examples share one variance for in and one for out: squares
// about each example's own mean, divided by Σ(values − 1). With more shadows each example has its own variances.
// An example without a score has none: it lacks values, or their variance is unknown or 0.
// Errors: bad_input where a shadow has not one φ and one flag per example of the target, or a φ is infinite or NaN.

/// log N(φ; in) − log N(φ; out) of every example.
std::vector<std::optional<double>> online_scores(const std::vector<double>& target_phi,
                                                 const std::vector<shadow_model>& shadows);

/// z = (φ − centre)/deviation of every example against out alone: rises with the one-sided Φ(z) and does not saturate.
/// Where no example has two values out (one reference model), φ − φ_out.
std::vector<std::optional<double>> offline_scores(const std::vector<double>& target_phi,
                                                  const std::vector<shadow_model>& shadows);

}  // namespace rldp::eval
