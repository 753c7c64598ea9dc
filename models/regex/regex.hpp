#pragma once
// Regular expressions by Oniguruma, as others mean theirs.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace rldp::models {

/// Once, before anything else of Oniguruma is called.
void start_oniguruma();

/// A compiled expression; safe to share. `text` must be valid UTF-8. What matching may cost is bounded by the length of
/// the text, and beyond that nothing more matches: whether a run fails must not depend on a record.
class regex {
  public:
    enum class dialect {
        hugging_face,  ///< of its tokenizers
        python,        ///< of `re`
    };
    /// Errors: bad_input, beginning with `where`, for what is no expression.
    regex(std::string_view pattern, const std::string& where, dialect how = dialect::hugging_face);
    /// All matches, left to right; of the empty ones those that do not end another match.
    std::vector<text_range> matches(std::string_view text) const;
    /// Empty matches stay as they are: replaced, they would let a text grow with every step.
    std::string replace(std::string_view text, std::string_view with) const;
    /// Whether a match begins where the text does, which is public. Errors: bad_input where the pattern takes too long.
    bool matches_start(std::string_view text) const;

  private:
    std::shared_ptr<const void> code_;
    std::string where_;
};

/// Of Python's; refusals name the pattern, too.
regex python_regex(const std::string& pattern, const std::string& where);
/// The same where a match must be the whole text, as for re.fullmatch.
regex python_regex_of_whole(const std::string& pattern, const std::string& where);

}  // namespace rldp::models
