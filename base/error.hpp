#pragma once
// What goes wrong: errors that a user reads, and preconditions that only a bug breaks.
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace rldp {

// Errors. The one exception type of the project. Its text is a single line that says what, where, and what to do.

enum class errc {
    failed = 1,            ///< something went wrong that the user did not cause; exit status 1
    bad_input = 2,         ///< a file, option or value the user can mend; exit status 2
    budget_exhausted = 3,  ///< the spending policy grants nothing more; exit status 3
    interrupted = 130,     ///< stopped by a signal, resumable; exit status 130
};

/// A line may quote what a file holds, so it is made printable.
class error : public std::runtime_error {
  public:
    error(errc code, const std::string& line) : std::runtime_error(printable(line)), code_(code) {}
    errc code() const noexcept { return code_; }

  private:
    errc code_;
};

/// Shorthand for the commonest case.
[[noreturn]] inline void refuse(const std::string& line) {
    throw error(errc::bad_input, line);
}
inline void refuse_unless(bool holds, const std::string& line) {
    if (!holds) refuse(line);
}

// Preconditions of the libraries. What a caller in this program has to hold to. What a user, a file or a peer gives is
// refused instead (refuse() above), by whoever reads it.

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
