#pragma once
// Patterns of codes, such as "[A-Z][0-9]{2}(\.[0-9])?": a regular expression without anything that has no end.
#include <memory>
#include <string>
#include <string_view>

#include "data/grammar/language.hpp"

namespace rldp::data {

/// Characters stand for themselves, a backslash before what else means something; [A-Z0-9_] for one of several; (a|b)
/// for one of two; ?, {n} and {m,n} behind one say how often. Classes hold ASCII. Errors: bad_input that begins with
/// what the pattern lacks, for what is no such pattern, spells nothing but the empty text, or has too many states.
std::shared_ptr<const part> make_code(std::string_view pattern);

}  // namespace rldp::data
