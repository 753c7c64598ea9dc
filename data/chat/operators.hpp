#pragma once
// Operators, indexes and slices, as Python has them.
#include <optional>

#include "data/chat/value.hpp"

namespace rldp::data::jinja {

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
