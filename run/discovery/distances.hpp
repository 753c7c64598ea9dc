#pragma once
// How far a made-up table's columns and pairs of columns lie from the private one's, under a price, for everybody to
// read (docs/privacy.md §16).
#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "eval/tables/column_counts.hpp"
#include "run/discovery/counted_table.hpp"

namespace rldp::actors {

struct distances_request {
    std::filesystem::path run;         ///< whose public schema says what there is; its unit is protected
    std::string made_up, data;         ///< tables
    std::vector<std::string> columns;  ///< empty: all of the schema that have places
    std::filesystem::path out;         ///< of the report, as JSON; empty: none
    bool overwrite = false;
    counting_contract contract;  ///< unit and rows of it follow from the run
};

struct table_distances {
    struct of_columns {
        std::string first, second;  ///< second: empty of one column alone
        eval::noised_distance distance;
    };
    std::vector<of_columns> single, pairs;  ///< each in the schema's order
    std::vector<std::string> left_out;      ///< columns without places
    double units = 0, units_deviation = 0;  ///< of the private table, as counted with noise
    std::string unit;
    std::string written;  ///< the report
    counted_table counted;
};

/// Errors: bad_input for a run without a schema, a column that is none of it or has no places, and as count_table.
table_distances measure_distances(const distances_request& asked);

}  // namespace rldp::actors
