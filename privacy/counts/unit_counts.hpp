#pragma once
// Counts of units with noise: how many have what, in several lists at once (docs/privacy.md §16).
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "privacy/keys/random.hpp"
#include "privacy/spending/counts_charge.hpp"

namespace rldp::privacy {

/// One list of places. A row stands at one of them at most.
struct counted_list {
    std::size_t places = 0;  ///< which are public; 0: an open list, whose places are the values that rows have
    double share = 1;        ///< of what a unit may add, squared: the shares of all lists add up to 1
};

/// Where a row stands in a list: nowhere, at a place, or in an open list at a value.
using row_place = std::variant<std::monostate, std::size_t, std::string_view>;

/// In the order of the lists.
struct noised_counts {
    struct list {
        std::vector<double> places;           ///< units at each, by the parts of their rows
        std::map<std::string, double> found;  ///< of an open list: values whose count is at least the threshold
        double deviation = 0;                 ///< of the noise, in units
        double threshold = 0;                 ///< of an open list
    };
    std::vector<list> lists;
};

/// Deviation of a list's noise.
double count_deviation(const counts_price& price, double share);
/// Of an open list that has `delta` of the selection: with a unit's rows, at most `rows`, added to places where nothing
/// was, one of them reaches the threshold with at most that probability.
double selection_threshold(double deviation, std::int64_t rows, double delta);

/// Sums whole rows. A unit adds the mean over its rows: where each row has one place, a vector of norm 1 at most in
/// each list.
class unit_counts {
  public:
    /// `rows`: the most that a unit may have.
    unit_counts(std::vector<counted_list> lists, std::int64_t rows);

    /// A row of a unit that has `rows` rows; a place for each list.
    void add(std::span<const row_place> at, std::int64_t rows);

    /// Once: equal noise on other sums would cancel. Errors (bug): for a charge that does not pay for open lists.
    noised_counts finish(const counts_charge& charged, const run_key& key);

  private:
    std::vector<counted_list> lists_;
    std::int64_t rows_;
    std::vector<std::vector<std::int64_t>> places_;
    std::vector<std::map<std::string, std::int64_t, std::less<>>> open_;
    bool finished_ = false;
};

}  // namespace rldp::privacy
