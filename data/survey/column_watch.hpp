#pragma once
// What one column holds, gathered value by value in bounded memory.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>

namespace rldp::data {

/// What tables write where there is no value.
inline constexpr std::array<std::string_view, 18> values_for_none{"",     "?",    "-",     "NA",   "N/A",  "n/a",
                                                                  "n.a.", "k.A.", "k. A.", "#N/A", "<NA>", "nan",
                                                                  "NaN",  "NaT",  "None",  "NULL", "null", "unknown"};

class column_watch {
  public:
    void see(std::string_view value);
    /// Whether every record has the same, or nothing.
    bool says_nothing() const;
    /// Of the values that were there; exact up to most_distinct.
    std::size_t distinct() const { return seen_.size(); }
    /// How many records have each of values_for_none.
    const std::array<std::size_t, values_for_none.size()>& missing() const { return missing_; }
    /// Values that are numbers with a decimal comma, of those that are there.
    std::size_t decimal_commas() const { return decimal_commas_; }
    /// Records that have the one word that stands among numbers, where most of the others are numbers; else 0.
    std::size_t words_among_numbers() const;

  private:
    static constexpr std::size_t most_distinct = 2'000'000;

    std::size_t present_ = 0, numbers_ = 0, decimal_commas_ = 0;
    std::array<std::size_t, values_for_none.size()> missing_{};
    std::unordered_set<std::uint64_t> seen_, words_;  ///< hashes; of words no more than a few
};

}  // namespace rldp::data
