#pragma once
// The file of results: a line per case, appended when it is over, so that a campaign goes on where it was cut.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/faults/scene.hpp"

namespace rldp::testing {

struct result {
    std::uint64_t seed = 0, number = 0;
    std::string fault;  ///< the class
    verdict ended;
    double seconds = 0;
};

void append(const path& file, const result& what);
std::vector<result> read_results(const path& file, std::uint64_t seed);

/// A row per class, a column per outcome, and below it each failure with what repeats it.
std::string format_table(const std::vector<result>& all);
bool any_failed(const std::vector<result>& all);

}  // namespace rldp::testing
