#pragma once
// What one column holds, gathered value by value in bounded memory.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>

namespace rldp::data {

class column_watch {
  public:
    void see(std::string_view value);
    /// Whether every record has the same, or nothing.
    bool says_nothing() const { return seen_.empty() || (seen_.size() == 1 && missing_ == 0 && present_ > 1); }
    /// Of the values that were there; exact up to most_distinct.
    std::size_t distinct() const { return seen_.size(); }

  private:
    static constexpr std::size_t most_distinct = 2'000'000;

    std::size_t present_ = 0, missing_ = 0;
    std::unordered_set<std::uint64_t> seen_;  ///< hashes
};

/// What tables write where there is no value.
inline constexpr std::array<std::string_view, 12> values_for_none{"",    "?",   "-",    "NA",   "N/A",  "n/a",
                                                                  "nan", "NaN", "None", "NULL", "null", "unknown"};

}  // namespace rldp::data
