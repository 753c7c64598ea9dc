#pragma once
// Telemetry as one line of JSON: what a stream carries.
#include <string>
#include <string_view>

#include "monitor/stream/telemetry.hpp"

namespace rldp::monitor {

/// One line, without its end. Infinite and NaN numbers are strings (eval/metrics/json_number.hpp). In texts, what
/// telemetry_from() would refuse is replaced or cut off.
std::string to_json(const monitor::telemetry& value);

/// Reads what a peer sent. Unknown keys are left alone. Errors: bad_input, in one line, for what is no telemetry: a
/// missing key, another type, a count that is negative or beyond 10^15, a text with control characters (a terminal
/// would obey them) or longer than 256 bytes, more than a million radii.
monitor::telemetry telemetry_from(std::string_view line);

}  // namespace rldp::monitor
