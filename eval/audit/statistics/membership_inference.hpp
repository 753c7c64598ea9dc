#pragma once
// Membership inference: how well scores tell members from non-members, and scores by the likelihood ratio. The higher a
// score, the more member-like.
#include <cstddef>
#include <optional>
#include <vector>

namespace rldp::eval {

// ROC. How well scores tell members from non-members; equal scores stay together.

/// A count of independent trials with its two-sided 95 % interval.
struct proportion {
    std::size_t count = 0, total = 0;
    double low = 0, high = 1;  ///< Clopper and Pearson (1934): covers the true rate with probability at least 0.95

    double rate() const { return static_cast<double>(count) / static_cast<double>(total); }
};

/// Errors: bad_input where there is no trial, or more counted than tried.
proportion compute_proportion(std::size_t count, std::size_t total);

/// Of one threshold: the shares of either side that score at least as high, in [0, 1].
struct roc_point {
    double false_positives, true_positives;
};

// Errors of auc, measure_auc, roc_curve and true_positives_at: bad_input for a score that is infinite or NaN.

/// The share of pairs in which the member scores higher, an equal pair counting half; absent where a side is empty.
std::optional<double> auc(const std::vector<double>& members, const std::vector<double>& non_members);

/// An AUC with its two-sided 95 % interval, within [0, 1].
struct measured_auc {
    double auc = 0.5, low = 0, high = 1;
};

/// DeLong, DeLong and Clarke-Pearson (1988): the variance from each score's share of won pairs; scores are independent.
/// Where all pairs are won, or none tells anything, it is 0 and the interval a point. Absent where a side has fewer
/// than two. Errors as of auc.
std::optional<measured_auc> measure_auc(const std::vector<double>& members, const std::vector<double>& non_members);

/// A point for every distinct score, both rates rising, after the threshold above all scores: from (0, 0) to (1, 1).
/// Empty where a side is.
std::vector<roc_point> roc_curve(const std::vector<double>& members, const std::vector<double>& non_members);

/// The members at the lowest threshold that has at most the share `false_positives` (in [0, 1]) of the non-members. The
/// interval takes that threshold as given. Absent where a side is empty. Errors also: a share outside of [0, 1].
std::optional<proportion> true_positives_at(double false_positives, const std::vector<double>& members,
                                            const std::vector<double>& non_members);

// LiRA. The likelihood ratio attack: Carlini, Chien, Nasr, Song, Terzis, Tramèr (2022), "Membership Inference Attacks
// From First Principles".

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
