#pragma once
// How far distributions of columns, pairs of columns and texts lie apart. Numbers in, numbers out.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/tables/values.hpp"

namespace rldp::eval {

// Distances. Between two distributions of one support, given by counts or shares: each is divided by its sum.

/// ½ Σ|p − q|, in [0, 1]. Errors (bug): lists of different lengths, or one that sums to 0.
double total_variation(std::span<const double> p, std::span<const double> q);
/// The divergence of Jensen and Shannon in bits, in [0, 1].
double jensen_shannon(std::span<const double> p, std::span<const double> q);

// Columns. What their values are counted by.

/// Bins of a column's values; the last one is for missing ones.
class value_bins {
  public:
    /// Of numbers: every value that `sample` has, where those are few, else its quantiles. Of words: the commonest of
    /// the sample, and one bin for all others. `most`: of bins, the two last ones apart.
    value_bins(const value_column& column, const std::vector<double>& sample, std::size_t most);

    std::size_t size() const { return size_; }
    std::size_t missing() const { return size_ - 1; }
    std::size_t find(double value) const;
    /// What the bin is called: a value, a range, "others" or "missing".
    std::string name(std::size_t bin) const;
    std::vector<double> count(std::span<const double> values) const;

  private:
    const value_column& column_;
    bool single_ = true;                ///< a number each, else up to and with this one
    std::vector<double> ends_;          ///< of numbers
    double lowest_ = 0;                 ///< of the sample
    std::vector<std::size_t> by_word_;  ///< bin of each word
    std::vector<std::size_t> words_;    ///< word of each bin
    std::size_t size_ = 0;
};

// Pairs. Association of two columns, over the rows where neither is missing; none where one of them has one value
// alone.

/// Pearson's, in [−1, 1].
std::optional<double> correlation(std::span<const double> x, std::span<const double> y);
/// Cramér's V of categories 0, 1, … up to a few hundred, in [0, 1], without a correction.
std::optional<double> cramers_v(std::span<const double> x, std::span<const double> y);
/// η: the root of the share of the numbers' variance that lies between the categories, in [0, 1].
std::optional<double> correlation_ratio(std::span<const double> category, std::span<const double> number);

/// One of the three, by the columns' kinds, of every pair of `columns`, none of which is text; [i][j], the diagonal
/// empty.
using association = std::vector<std::vector<std::optional<double>>>;
association associate(const std::vector<value_kind>& kinds, const std::vector<std::vector<double>>& columns);

// Texts. Their words: runs of letters and digits, ASCII letters in lower case.

std::vector<std::string> words_of_text(std::string_view text);
/// Total variation of the runs of n words of two lists of texts; none where one has no run so long.
std::optional<double> gram_distance(std::span<const std::string* const> a, std::span<const std::string* const> b,
                                    std::size_t n);

}  // namespace rldp::eval
