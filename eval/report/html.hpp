#pragma once
// Text and numbers for the report's page.
#include <cstdint>
#include <string>
#include <string_view>

namespace rldp::eval {

/// `text` with & < > " ' as references; bytes that are not UTF-8 stay as they are, browsers show a replacement.
std::string escaped(std::string_view text);
/// Four significant digits; ∞ and "not a number" in words a reader understands.
std::string readable(double value);
/// 73 271: narrow no-break spaces between thousands.
std::string readable(std::int64_t value);

}  // namespace rldp::eval
