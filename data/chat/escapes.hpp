#pragma once
// Escapes in a literal.
#include <string>
#include <string_view>

namespace rldp::data::jinja {

/// The text that Python's escapes in a literal stand for; one that is none stays, with its backslash. Errors: fault of
/// names (\N) and of code points that are none.
std::string unescaped(std::string_view literal);

}  // namespace rldp::data::jinja
