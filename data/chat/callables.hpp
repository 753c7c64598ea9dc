#pragma once
// What templates call: filters, tests, methods of texts and dicts.
#include "data/chat/arguments.hpp"

namespace rldp::data::jinja {

/// of|name(given). Errors: fault of a filter that is not known here, as of the others.
value filtered(allowance& left, std::string_view name, const value& of, const arguments& given);

/// of is name(given).
bool passes(allowance& left, std::string_view name, const value& of, const arguments& given);

/// Whether Python has a method of that name, supported here or not, where templates may mean a key.
bool is_method(const value& of, std::string_view name);
/// of.name(given).
value called_method(allowance& left, const value& of, std::string_view name, const arguments& given);

/// The text with each `old` replaced, at most `most` times; below 0, all.
value replaced(allowance& left, const std::string& text, const std::string& old, const std::string& by,
               std::int64_t most);

/// The items' texts with `separator` between them. Errors: fault of what is no text, if `only_texts`.
value joined_texts(allowance& left, const series& items, std::string_view separator, bool only_texts);

}  // namespace rldp::data::jinja
