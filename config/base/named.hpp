#pragma once
// Enumerations that files and commands have words for: one table each, of its values and their words.
#include <string>
#include <string_view>
#include <vector>

#include "config/base/error.hpp"
#include "config/base/require.hpp"

namespace rldp {

template <class Value>
struct named_value {
    Value value;
    std::string_view name;
};

/// Specialised for every such enumeration: `what` a value is, for refusals, and `rows`, in the order of the reference.
template <class Value>
struct names;

template <class Value>
concept named = requires {
    names<Value>::rows;
};

template <named Value>
std::string name_of(Value value) {
    for (const auto& row : names<Value>::rows)
        if (row.value == value) return std::string(row.name);
    bug("a value without a name");
}

template <named Value>
std::vector<std::string> all_names() {
    std::vector<std::string> out;
    for (const auto& row : names<Value>::rows) out.emplace_back(row.name);
    return out;
}

/// "dcsgd_p and dcsgd_e": for sentences and refusals.
inline std::string joined_names(const std::vector<std::string>& all) {
    std::string out;
    for (std::size_t i = 0; i < all.size(); ++i) out += (i == 0 ? "" : i + 1 == all.size() ? " and " : ", ") + all[i];
    return out;
}

/// Errors: bad_input for any other word.
template <named Value>
Value parse_named(std::string_view word) {
    for (const auto& row : names<Value>::rows)
        if (row.name == word) return row.value;
    refuse(std::string(names<Value>::what) + " \"" + std::string(word) +
           "\" is unknown: " + joined_names(all_names<Value>()) + " are known");
}

}  // namespace rldp
