#pragma once
// The cells of `rldp sweep`: every combination of the keys' values, with every seed.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eval/grid/grid.hpp"

namespace rldp::eval {

struct sweep_cell {
    cell run;
    std::string setting;               ///< "rl.interval=16,rl.batch=4": the cells of one setting differ by seed only
    std::optional<std::int64_t> seed;  ///< absent: the base's own
    std::size_t number = 0;            ///< in the plan
};

struct sweep_plan {
    grid what;
    std::vector<std::string> keys;      ///< those of --grid, in order
    std::vector<std::string> settings;  ///< in the order of the grid, the last key fastest
    std::vector<std::int64_t> seeds;
    bool made_up = false;  ///< the base's own data are made up
    std::vector<sweep_cell> cells;
};

/// `keys` as "dotted.key=v1,v2". Errors: bad_input for a key that is not in the schema (naming the nearest), a key
/// twice, a malformed list, a value out of range (naming the cell).
sweep_plan plan_sweep(const std::vector<std::string>& keys, const std::string& seeds, const resolver& resolve);

}  // namespace rldp::eval
