#pragma once
// Domains of columns, found under a price: from a table whose owner says of what kind a column is to a schema that says
// what values it has (docs/privacy.md §16).
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/domains/open_column.hpp"
#include "run/discovery/counted_table.hpp"

namespace rldp::actors {

struct discovery_request {
    std::string data;
    std::vector<std::string> types;  ///< as read_open_column
    std::optional<std::filesystem::path> table_template;
    std::filesystem::path out;  ///< where the schema is written: the template itself, or another file
    bool overwrite = false;     ///< an `out` that is there, and is not the template
    bool each_record = false;   ///< although by its name some column says whose a record is
    counting_contract contract;
};

/// What is known before anything is counted.
struct discovery_plan {
    struct column {
        data::open_column what;
        double deviation = 0;  ///< of each count's noise, in units
        /// Units that it takes: of a category those with a value for it to be named; of other kinds those in the first
        /// bucket that counts.
        double needed = 0;
    };
    std::vector<column> columns;
    privacy::counts_price price;
    std::string unit;  ///< "record", or the person's column: as asked, else as the template says
};

/// Reads the template and the table's columns. Errors: bad_input for what can't be found, declared or written.
discovery_plan plan_discovery(const discovery_request& asked);

struct discovered_column {
    std::string name;
    std::string said;  ///< "category": ["f","m"], or why nothing was found
    bool found = false;
};

struct discovery {
    std::vector<discovered_column> columns;
    std::string written;  ///< what belongs into `out`: the template with its schema; empty where nothing was found
    /// Where each column of that schema has a domain now: keys with which rows made up of it teach how one is told.
    std::string teaching;
    counted_table counted;
};

/// Counts and charges. Errors: as plan_discovery, count_table.
discovery discover(const discovery_request& asked);

}  // namespace rldp::actors
