#pragma once
// Results of cells as JSON, CSV and HTML: the parts that compare's and sweep's files share. They are made to be passed
// on, so they see a cell_result and never a cell_secrets.
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/experiments/cell_files.hpp"
#include "eval/experiments/comparison.hpp"
#include "run/artifacts/formatting.hpp"

namespace rldp::eval {

nlohmann::ordered_json to_json(const statistic& of);
nlohmann::ordered_json to_json(const std::optional<double>& value);  ///< null where absent
/// State, what is public of the run's summary, and its curve of evaluations as [step, perplexity].
nlohmann::ordered_json to_json(const cell_result& result);

/// A field of CSV, in quotes where it needs them.
std::string csv_field(std::string_view text);
std::string csv_line(const std::vector<std::string>& fields);
/// The columns of a result, after those of its axes: status, end and best perplexity, ε's, steps.
std::vector<std::string> result_columns();
std::vector<std::string> result_fields(const cell_result& result);

/// The part of a page that names the cells that failed, and tells nothing else of them; empty without any.
template <class Cells>
std::string failed_section(const Cells& cells) {
    std::vector<std::string> lines;
    for (const auto& [where, result] : cells)
        if (result.state == cell_state::failed) lines.push_back(where.run.id + ": failed; see trusted/");
    return lines.empty() ? "" : "<h2>Cells that failed</h2>\n" + html_list(lines);
}

}  // namespace rldp::eval
