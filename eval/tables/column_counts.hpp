#pragma once
// Columns in counts over public places, which follow from the schema and from no value; and how far noised counts lie
// from exact ones.
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "data/sources/narrative.hpp"

namespace rldp::eval {

/// Of a column that is no free text: at most 12 places for the values of its domain, neighbours in one where there are
/// more of them; one for whatever else there is, and one where there is nothing.
class column_places {
  public:
    static constexpr std::size_t most = 12;

    /// Whether it has any: free text and codes that can't be listed have none.
    static bool has(const data::column_type& type);
    /// Keeps references to both.
    column_places(const data::row_template& how, const data::column_schema& column);

    std::size_t size() const { return of_domain_ + 2; }
    std::size_t find(std::string_view cell) const;

  private:
    std::size_t within(std::size_t number, std::size_t count) const;

    const data::row_template& how_;
    const data::column_schema& column_;
    const data::column_rule* rule_ = nullptr;
    std::size_t of_domain_ = 0;
    std::map<std::string, std::size_t, std::less<>> words_;  ///< of a category, as it is told
};

/// Half of the sum of |p − q|, in [0, 1].
struct noised_distance {
    double estimate = 0;       ///< of the noised counts; noise alone makes it larger
    double low = 0, high = 1;  ///< where the distance without noise lies with 95 %
};

/// Counts of units with independent Gaussian noise, of which there are `units` in all, known up to noise of its own.
struct noised_places {
    std::span<const double> counts;
    double deviation = 0;
    double units = 0, units_deviation = 0;
};

/// Of p, the places' shares of all units, and q, the shares of `exact`, which has no noise. Let d be the distance and d̂
/// that of the noised shares. As a function of k standard normals, d̂ moves by at most L = ½·deviation·√k/units for a
/// move of 1, so it lies within L·√(2·ln 50) of its expectation but for 4 % (Boucheron, Lugosi, Massart 2013, theorem
/// 5.6); and its expectation lies between d, by convexity, and d + ½·k·deviation·√(2/π)/units. The number of units is
/// off by more than 2.58 deviations in 1 %.
noised_distance compute_distance(const noised_places& p, std::span<const double> exact);

}  // namespace rldp::eval
