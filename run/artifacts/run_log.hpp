#pragma once
// The run log, public/metrics.jsonl, held against the ledger: whose lines they are, and whether every step has one.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "privacy/spending/ledger.hpp"
#include "run/artifacts/metrics.hpp"

namespace rldp::eval {

/// What a resume finds of it.
struct found_log {
    std::vector<metrics_line> lines;    ///< this run's own, in the order of steps
    std::vector<std::int64_t> missing;  ///< steps from the first that have none
    std::string wrong;                  ///< path, line and what is wrong with the first that is none of the run's
};

/// The lines of steps up to and with `last`, wherever they stand: those of later steps are made again. A line of step 0
/// is there only where held-out units were looked at before the first step.
found_log find_log(const std::filesystem::path& path, const privacy::ledger_content& ledger, std::int64_t last);

/// What stands for the line of a step that is lost.
metrics_line lost_line(const privacy::ledger_content& ledger, std::int64_t step);

/// "step 3", "steps 3, 10 to 14 and 20".
std::string steps_in_words(const std::vector<std::int64_t>& steps);

struct checked_log {
    std::size_t steps = 0;    ///< that have a line
    std::size_t unnamed = 0;  ///< lines that name no line of the ledger, as earlier versions wrote them
    std::vector<std::int64_t> lost;
};

/// That it is the whole log of the run whose ledger that is: one line for every charged step, in order. Errors:
/// bad_input naming the first line that is none of it, or is missing.
checked_log check_log(const std::filesystem::path& path, const privacy::ledger_content& ledger);

}  // namespace rldp::eval
