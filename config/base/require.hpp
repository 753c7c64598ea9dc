#pragma once
// Preconditions of the libraries: what a caller in this program has to hold to. What a user, a file or a peer gives is
// refused instead (error.hpp), by whoever reads it.
#include <cmath>
#include <string>
#include <string_view>

#include "config/base/error.hpp"

namespace rldp {

/// Throws an error with status failed, "a bug in rldp: LINE": behind a switch over every value, or where the line is
/// worth making only then.
[[noreturn]] inline void bug(std::string_view line) {
    throw error(errc::failed, "a bug in rldp, please report it: " + std::string(line));
}

/// A bug unless `holds`.
inline void require(bool holds, std::string_view line) {
    if (!holds) bug(line);
}

inline bool is_positive(double value) {
    return std::isfinite(value) && value > 0;
}

/// Requires `value` to be finite and above 0; `name` is what it is in the caller's words.
inline void require_positive(double value, std::string_view name) {
    require(is_positive(value), std::string(name) + " is " + std::to_string(value) + ", not positive and finite");
}

}  // namespace rldp
