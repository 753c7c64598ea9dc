#pragma once
// JSON has no infinity: in our files infinite and NaN numbers are the strings "inf", "-inf" and "nan".
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"

namespace rldp::eval {

inline nlohmann::ordered_json json_number(double value) {
    if (std::isfinite(value)) return value;
    if (std::isnan(value)) return "nan";
    return value > 0 ? "inf" : "-inf";
}

inline double number_from(const nlohmann::ordered_json& value) {
    if (value.is_number()) return value.get<double>();
    if (value == "inf") return std::numeric_limits<double>::infinity();
    if (value == "-inf") return -std::numeric_limits<double>::infinity();
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    refuse("not a number: " + value.dump() + "; write a number, \"inf\", \"-inf\" or \"nan\"");
}

}  // namespace rldp::eval
