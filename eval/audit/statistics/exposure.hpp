#pragma once
// How much better a model knows a secret than chance: Carlini, Liu, Erlingsson, Kos, Song (2019), "The Secret Sharer".
// Everything is measured by log-perplexity: the lower, the better known. Exposures are in bits.
#include <vector>

#include "eval/audit/statistics/skew_normal.hpp"

namespace rldp::eval {

/// log2|R| − log2 rank, where R is the secret with `others` and its rank is 1 + the number of others at most as high: a
/// tie is counted as better known than the secret. In [0, log2|R|]. Where the others are all that the secret could have
/// been, this is its exposure; where they are a sample of those, an estimate that ends at log2(1 + sample).
/// Errors: bad_input for a number that is infinite or NaN.
double rank_exposure(double secret, const std::vector<double>& others);

/// −log2 of the share of secrets at most as high, under the law fitted to references of the secret's format and length
/// that were not trained on. From 0, without an end: believe it no further than the law's fit. Errors: as above.
double extrapolated_exposure(double secret, const skew_normal& references);

}  // namespace rldp::eval
