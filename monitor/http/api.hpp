#pragma once
// What the dashboard answers: the page's files, and what is read of runs as JSON, CSV and Prometheus text.
#include <cstdint>
#include <string>
#include <string_view>

#include "monitor/watch/catalog.hpp"

namespace rldp::monitor {

// Page. Its files, which are part of the program.

struct page_part {
    std::string type;
    std::string_view gzip;  ///< its bytes, compressed
};

/// By path, "/" for the page itself; nullptr where there is none.
const page_part* page_file(std::string_view path);
/// What the API answers, as OpenAPI 3.1 has it, but for the quantities (openapi_json() has them).
std::string api_description();
/// Compressed as gzip does.
std::string packed(std::string_view text);
/// What gzip compressed.
std::string unpacked(std::string_view gzip);

// API. What the dashboard answers as JSON, CSV and Prometheus text.

/// One object: {"program", "version", "runs": [row…], "grids": [{"id", "name", "kind", "cells", "done", "failed",
/// "running"}…]}, a row as to_json() (run_view.hpp), the last four being numbers of cells.
std::string runs_json(const catalog& all, const std::string& program_version);
/// The row, the contract in sentences, adapters, controller, warnings, {"table": {"columns", "rows"}} where the tuned
/// model made up rows, and the history of the steps in [from, to]: each quantity as [[step, value]…] of at most
/// `points` points, thinned as curve::thinned() says, and at most 128 snapshots.
std::string run_json(const run_view& run, const history& past, std::int64_t from, std::int64_t to, std::size_t points);
/// {"id", "name", "kind", "cells": [{"name", "state", "run": row, where there is one}…]}: those of the last invocation,
/// then the runs of earlier ones, whose state is their own.
std::string grid_json(const grid_view& grid, const catalog& all);
/// {"may_stop", "quantities": [{"name", "title", "logarithmic", "stepwise", "noisy"}…]}.
std::string session_json(bool may_stop);
/// The API's description with the quantities of a row.
std::string openapi_json();
/// A line per step and quantity: step,quantity,value; whole, not thinned.
std::string metrics_csv(const history& past);
/// Prometheus's text format, version 0.0.4.
std::string prometheus_text(const catalog& all);

}  // namespace rldp::monitor
