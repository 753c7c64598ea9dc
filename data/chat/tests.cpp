// What stands behind `is`.
#include <fmt/format.h>

#include <array>

#include "data/chat/operations.hpp"

namespace rldp::data::jinja {

namespace {

using lone_test = bool (*)(const value&);
using test_with_other = bool (*)(allowance&, const value&, const value&);

template <typename kind>
bool holds(const value& of) {
    return std::holds_alternative<kind>(of);
}

bool is_defined(const value& of) {
    return !holds<undefined>(of);
}

bool is_text(const value& of) {
    return find_text(of) != nullptr;
}

bool is_mapping(const value& of) {
    return find_mapping(of) != nullptr;
}

/// Python finds all three in an undefined value, too.
bool is_iterable(const value& of) {
    return holds<undefined>(of) || is_text(of) || is_mapping(of) || find_series(of) != nullptr ||
           holds<std::shared_ptr<const loop_place>>(of);
}

bool is_callable(const value& of) {
    return holds<undefined>(of) || holds<function>(of);
}

bool is_sequence(const value& of) {
    const auto* items = find_series(of);
    return holds<undefined>(of) || is_text(of) || is_mapping(of) ||
           (items != nullptr && items->what <= series::kind::range);
}

bool is_any_number(const value& of) {
    return holds<bool>(of) || holds<std::int64_t>(of) || holds<double>(of);
}

template <bool wanted>
bool is_flag(const value& of) {
    const auto* flag = std::get_if<bool>(&of);
    return flag != nullptr && *flag == wanted;
}

template <std::int64_t rest>
bool leaves(const value& of) {
    std::int64_t room = 0;
    const auto* whole = find_integer(of, room);
    if (whole == nullptr) throw fault(describe_kind(of) + " is neither odd nor even here");
    return (*whole % 2 != 0) == (rest != 0);
}

bool is_unequal(allowance& left, const value& a, const value& b) {
    return !are_equal(left, a, b);
}

bool is_above(allowance& left, const value& a, const value& b) {
    return is_less(left, b, a);
}

bool is_at_most(allowance& left, const value& a, const value& b) {
    return is_less(left, a, b) || are_equal(left, a, b);
}

bool is_at_least(allowance& left, const value& a, const value& b) {
    return is_less(left, b, a) || are_equal(left, a, b);
}

bool is_in(allowance& left, const value& a, const value& b) {
    return contains(left, b, a);
}

bool is_divisible(allowance& left, const value& a, const value& b) {
    return are_equal(left, arithmetic(left, "%", a, b), std::int64_t{0});
}

constexpr std::array<std::pair<std::string_view, lone_test>, 16> lone_tests = {{
    {"defined", is_defined},
    {"undefined", holds<undefined>},
    {"none", holds<none>},
    {"string", is_text},
    {"mapping", is_mapping},
    {"iterable", is_iterable},
    {"sequence", is_sequence},
    {"number", is_any_number},
    {"integer", holds<std::int64_t>},
    {"float", holds<double>},
    {"boolean", holds<bool>},
    {"true", is_flag<true>},
    {"false", is_flag<false>},
    {"callable", is_callable},
    {"odd", leaves<1>},
    {"even", leaves<0>},
}};

constexpr std::array<std::pair<std::string_view, test_with_other>, 17> tests_with_other = {{
    {"equalto", are_equal},
    {"eq", are_equal},
    {"==", are_equal},
    {"ne", is_unequal},
    {"!=", is_unequal},
    {"lt", is_less},
    {"<", is_less},
    {"lessthan", is_less},
    {"gt", is_above},
    {">", is_above},
    {"greaterthan", is_above},
    {"le", is_at_most},
    {"<=", is_at_most},
    {"ge", is_at_least},
    {">=", is_at_least},
    {"in", is_in},
    {"divisibleby", is_divisible},
}};

}  // namespace

bool passes(allowance& left, std::string_view name, const value& of, const arguments& given) {
    for (const auto& [known, test] : lone_tests)
        if (known == name) {
            const arranged none_given(given, {}, name);
            return test(of);
        }
    for (const auto& [known, test] : tests_with_other)
        if (known == name) return test(left, of, arranged(given, {"other"}, name).at(0));
    throw fault(fmt::format("the test '{}' is not supported; write the line without it", name));
}

}  // namespace rldp::data::jinja
