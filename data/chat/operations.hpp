#pragma once
// What the expressions of a template do with values: calls, operators, indexes and slices.
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/chat/value.hpp"

namespace rldp::data::jinja {

// Arguments. What filters, tests, methods and functions are called with.

struct arguments {
    std::vector<value> positional = {};
    std::vector<std::pair<std::string_view, value>> named = {};
};

/// Arguments in the order of the parameters.
class arranged {
  public:
    /// `whose` names what is called. Errors: fault of more arguments than parameters, and of unknown or repeated names.
    arranged(const arguments& given, std::initializer_list<std::string_view> parameters, std::string_view whose);

    /// Null where it is missing.
    const value* find(std::size_t index) const { return found_[index]; }
    /// Errors: fault where it is missing or of another kind; so of the others.
    const value& at(std::size_t index) const;
    const std::string& text(std::size_t index) const;
    std::int64_t integer(std::size_t index, std::int64_t missing) const;

  private:
    std::vector<const value*> found_;
    std::string whose_;
};

// Callables. What templates call: filters, tests, methods of texts and dicts.

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

// Operators. And indexes and slices, as Python has them.

/// `which` is one of + - * / // %. Errors: fault of values that do not go together, division by zero, and integers
/// beyond 64 bits.
value arithmetic(allowance& left, std::string_view which, const value& a, const value& b);
value negative(const value& of);

/// object[key], for what is no namespace; `name` is what an undefined result is called.
value find_item(allowance& left, const value& object, const value& key, std::string_view name);
/// object[start:stop:step].
value make_slice(allowance& left, const value& object, const std::optional<std::int64_t>& start,
                 const std::optional<std::int64_t>& stop, std::int64_t step);

}  // namespace rldp::data::jinja
