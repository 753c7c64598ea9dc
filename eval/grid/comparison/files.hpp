#pragma once
// A comparison's files, compare.json, compare.csv and compare.html, and what the command prints.
#include <filesystem>
#include <string>
#include <vector>

#include "eval/grid/comparison/comparison.hpp"

namespace rldp::eval {

/// Everything that a comparison's files are made of.
struct compare_report {
    compare_plan plan;
    std::vector<measured> cells;  ///< common and tuning, then tuned
    comparison at_common;
    std::vector<tuning> tuning_results;
    comparison at_own;  ///< without tuning: empty
    expense cost;
    std::string command;  ///< that repeats it, or goes on with it
};

/// The numbers of `cells`, which it takes.
compare_report make_report(const compare_plan& plan, std::vector<measured> cells, const std::string& command);

std::string compare_json(const compare_report& report);
std::string compare_csv(const compare_report& report);
std::string compare_html(const compare_report& report);
/// For a terminal.
std::string compare_text(const compare_report& report);

/// Replaces the three files in `out`.
void write_files(const std::filesystem::path& out, const compare_report& report);

}  // namespace rldp::eval
