#pragma once
// Which rows of a unit count: a public number of them at most.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "privacy/keys/random.hpp"

namespace rldp::privacy {

/// Chooses by secret lots. A unit's chosen rows depend on its own lots alone, so one more unit changes no other's.
class row_choice {
  public:
    /// `most`: rows of a unit, from 1 to most_rows.
    row_choice(std::int64_t most, const run_key& key);

    static constexpr std::int64_t most_rows = 10'000;

    /// The table's next row is this unit's.
    void see(std::string_view unit);
    /// Of each row, how many of its unit's are chosen; 0 for one that is not.
    std::vector<std::uint16_t> finish() const;

  private:
    struct lot {
        std::uint64_t drawn;
        std::size_t row;
        auto operator<=>(const lot&) const = default;
    };
    std::size_t most_, rows_ = 0;
    random_stream lots_;
    std::unordered_map<std::string, std::vector<lot>> chosen_;  ///< heaps: the largest lot in front
};

}  // namespace rldp::privacy
