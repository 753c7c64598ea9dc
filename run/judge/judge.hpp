#pragma once
// A made-up table judged by the records of the run that it was made from: reads both sides, for the owner of the data
// alone. The table may come from elsewhere, as long as it has the columns of the run's schema.
#include <cstdint>
#include <filesystem>
#include <string>

#include "eval/tables/report/report.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::actors {

struct judge_request {
    std::filesystem::path run, table;
    int threads = 1;
};

/// Why no report can be made of a run: its trusted side is not here, or its records came through a pipe. Empty where
/// one can. Nothing under trusted/ is read.
std::string find_obstacle(const std::filesystem::path& run);

/// What the table comes to. The records stand on the sides that the run had them on; those of a group beyond
/// privacy.records_per_unit on none. Of many, the units of the smallest keyed hashes are looked at, and of the table
/// rows of chance. Errors: bad_input for a run without trusted side or schema, for data other than the run's, where no
/// record was held out, and for a table without rows or with other columns.
eval::table_report judge_table(const judge_request& asked);

/// trusted/synthetic.html, whose path it answers, and trusted/synthetic.json; each whole or not at all.
std::filesystem::path write_table_report(const std::filesystem::path& run, const eval::table_report& report);

}  // namespace rldp::actors
