#pragma once
// Results of cells as JSON and CSV: the parts that compare's and sweep's files share.
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/cell_files.hpp"
#include "eval/comparison.hpp"

namespace rldp::eval {

nlohmann::ordered_json to_json(const statistic& of);
nlohmann::ordered_json to_json(const std::optional<double>& value);  ///< null where absent
/// State, failure, times, the run's summary, and its curve of evaluations as [step, perplexity].
nlohmann::ordered_json to_json(const cell_result& result);

/// A field of CSV, in quotes where it needs them.
std::string csv_field(std::string_view text);
std::string csv_line(const std::vector<std::string>& fields);
/// The columns of a result, after those of its axes: status, end and best perplexity, ε's, seconds, steps.
std::vector<std::string> result_columns();
std::vector<std::string> result_fields(const cell_result& result);

}  // namespace rldp::eval
