#pragma once
// The one exception type of the project. Its text is a single line that says what, where, and what to do.
#include <stdexcept>
#include <string>

#include "config/base/printable.hpp"

namespace rldp {

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

}  // namespace rldp
