#pragma once
// Regular expressions for the names of modules, as Python's `re` reads them: PEFT chooses modules by such.
#include <memory>
#include <string>

namespace rldp::models {

/// Matching takes a bounded time, whatever the pattern. Errors of both: bad_input that begins with `where`.
class name_pattern {
  public:
    /// Errors: bad_input for what is no regular expression.
    name_pattern(const std::string& pattern, const std::string& where);

    bool matches_whole(const std::string& name) const;  ///< re.fullmatch
    bool matches_start(const std::string& name) const;  ///< re.match

  private:
    bool matches(const std::string& name, unsigned how) const;

    std::string where_;
    std::shared_ptr<void> code_;
};

}  // namespace rldp::models
