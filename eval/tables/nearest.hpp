#pragma once
// The nearest rows of a table to others, by Gower's distance.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "eval/tables/values.hpp"

namespace rldp::eval {

/// Gower (1971): the mean over columns of |a − b|/range for numbers, 0 or 1 for categories, 1 − Jaccard's index of the
/// words of texts; 1 where one of the two is missing, 0 where both are. In [0, 1].
class row_distance {
  public:
    /// `ranges`: of numbers, largest minus smallest; what is farther apart counts 1. Keeps no reference.
    row_distance(const std::vector<value_column>& columns, const std::vector<double>& ranges);

    /// Rows laid out for the search: columns of a row one behind the other.
    struct rows {
        std::vector<float> values;
        std::size_t count = 0;
    };
    /// Of `table` the rows that `which` lists.
    rows lay_out(const value_table& table, const std::vector<std::size_t>& which) const;

    /// Times the number of columns; anything above `limit` where it is above that. Without column `but`.
    float sum(const float* a, const float* b, float limit, std::size_t but) const;
    std::size_t columns() const { return kinds_.size(); }

  private:
    float of_texts(std::size_t column, float a, float b) const;

    std::vector<value_kind> kinds_;
    std::vector<float> scale_;                                       ///< 1/range
    std::vector<std::vector<std::vector<std::uint32_t>>> words_of_;  ///< by column and text: its words, ascending
};

inline constexpr std::size_t no_column = std::numeric_limits<std::size_t>::max();

struct nearest_rows {
    double distance = 0;             ///< Gower's
    std::vector<std::size_t> which;  ///< all at that distance, where they are asked for
};

/// For each of `from`, which is the nearest of `to` (not empty), on several threads; the same for any number of them.
/// Without column `but`; `list`: whether ties are listed.
std::vector<nearest_rows> find_nearest(const row_distance& distance, const row_distance::rows& from,
                                       const row_distance::rows& to, int threads, std::size_t but = no_column,
                                       bool list = false);

}  // namespace rldp::eval
