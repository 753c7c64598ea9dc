#pragma once
// What filters, tests, methods and functions are called with.
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/chat/value.hpp"

namespace rldp::data::jinja {

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

}  // namespace rldp::data::jinja
