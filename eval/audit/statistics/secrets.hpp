#pragma once
// How well a model knows secrets, and how alike generated ones are.
#include <array>
#include <boost/math/distributions/skew_normal.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::eval {

// Skew-normal distribution. Azzalini (1985). Boost.Math's, with what it has not: the far lower tail, and a fit to
// values.

/// Density 2/ω·φ(z)·Φ(αz) with z = (x − ξ)/ω; location ξ, scale ω > 0, shape α.
using boost::math::skew_normal;

/// Natural logarithm of the distribution function, at most 0. To 1e-8 or better however far down, where the function
/// itself underflows; to 1e-2 for shapes beyond 10⁶, whose density has a step.
double log_cdf(const skew_normal& law, double x);

struct skew_normal_fit {
    skew_normal law;  ///< of maximum likelihood
    double distance;  ///< Kolmogorov–Smirnov: the largest difference to the values' own distribution function
    /// Of that distance, asymptotically. Optimistic: it leaves out that the law was fitted to the same values. A small
    /// one says that the law is wrong, a large one says nothing of the far tail.
    double p_value;
};

/// Where values are so skewed that the likelihood has its supremum at an infinite shape, a large finite one stands for
/// it. Errors: bad_input for fewer than limits::fewest_references values, an infinite or NaN one, all equal.
skew_normal_fit fit_skew_normal(std::vector<double> values);

// Exposure. How much better a model knows a secret than chance: Carlini, Liu, Erlingsson, Kos, Song (2019), "The Secret
// Sharer". Everything is measured by log-perplexity: the lower, the better known. Exposures are in bits.

/// log2|R| − log2 rank, where R is the secret with `others` and its rank is 1 + the number of others at most as high: a
/// tie is counted as better known than the secret. In [0, log2|R|]. Where the others are all that the secret could have
/// been, this is its exposure; where they are a sample of those, an estimate that ends at log2(1 + sample).
/// Errors: bad_input for a number that is infinite or NaN.
double rank_exposure(double secret, const std::vector<double>& others);

/// −log2 of the share of secrets at most as high, under the law fitted to references of the secret's format and length
/// that were not trained on. From 0, without an end: believe it no further than the law's fit. Errors: as above.
double extrapolated_exposure(double secret, const skew_normal& references);

// Similarity. How alike generated secrets and canaries are, by the character n-grams that they share, as RLDP's
// publication has it. Characters are bytes.

/// 1 to 10 characters, all of them A–Z or 0–9.
bool secret_like(std::string_view text);

/// Over all pairs.
struct similarity {
    double mean;       ///< in [0, 1]
    double deviation;  ///< of the pairs as a whole population (divided by their number)
};

constexpr std::size_t longest_gram = 4;
/// For n = 1 to 4 at index n − 1: |G∩H|/|G∪H| of every generated string with every canary, G and H being the sets of
/// their substrings of length n; 0 where both are shorter than n. Equal strings count as often as they are there.
/// Absent where there is no pair.
std::optional<std::array<similarity, longest_gram>> jaccard(const std::vector<std::string>& generated,
                                                            const std::vector<std::string>& canaries);

}  // namespace rldp::eval
