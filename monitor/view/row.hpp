#pragma once
// A run as one line of JSON: a row of the dashboard's overview, an event of its stream, a line of `rldp monitor
// --json`.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "monitor/view/run_view.hpp"

namespace rldp::monitor {

/// Of every quantity its name, and `NAME_in` with [low, high] where it may carry noise; what is not known is null, and
/// so is what is not finite, for a browser's JSON has no other word for it.
nlohmann::ordered_json to_json(const run_view& run);
/// The same in one line, whatever bytes its texts hold.
std::string to_row(const run_view& run);
/// Reads what any program may have sent. Errors: bad_input, in one short line, for what is no row: a text is at most
/// 4 KiB without control characters, a count at most 1e15.
run_view parse_row(std::string_view line);

}  // namespace rldp::monitor
