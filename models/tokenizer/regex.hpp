#pragma once
// Regular expressions of tokenizers. Internal to the tokenizers.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/base/text_range.hpp"

namespace rldp::models {

/// Once, before anything else of Oniguruma is called.
void start_oniguruma();

/// A compiled expression of Oniguruma, the library and the syntax that Hugging Face's tokenizers use. Safe to share.
class regex {
  public:
    /// `where` names file and key in refusals.
    regex(std::string_view pattern, const std::string& where);
    /// All matches, left to right; of the empty ones those that do not end another match. `text` must be valid UTF-8.
    /// Errors: bad_input, naming file and key, where the pattern takes too many steps or too much memory.
    std::vector<text_range> matches(std::string_view text) const;
    /// Empty matches stay as they are: replaced, they would let a text grow with every step.
    std::string replace(std::string_view text, std::string_view with) const;

  private:
    std::shared_ptr<const void> code_;
    std::string where_;
};

}  // namespace rldp::models
