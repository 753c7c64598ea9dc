#include "data/chat/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/chat/python_text.hpp"

namespace rldp::data::jinja {

namespace {

[[noreturn]] void do_not_fit(std::string_view which, const value& a, const value& b) {
    throw fault(fmt::format("{} {} {} is not supported", describe_kind(a), which, describe_kind(b)));
}

value whole_arithmetic(std::string_view which, std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    bool overflows = false;
    if (which == "+") {
        overflows = __builtin_add_overflow(a, b, &out);
    } else if (which == "-") {
        overflows = __builtin_sub_overflow(a, b, &out);
    } else if (which == "*") {
        overflows = __builtin_mul_overflow(a, b, &out);
    } else if (b == 0) {
        throw fault("a division by zero");
    } else if (which == "/") {
        return static_cast<double>(a) / static_cast<double>(b);
    } else if (b == -1) {
        if (which == "//") overflows = __builtin_sub_overflow(std::int64_t{0}, a, &out);
    } else {
        const std::int64_t rest = a % b;
        const bool is_below = rest != 0 && (rest < 0) != (b < 0);  // Python rounds down
        out = which == "//" ? a / b - (is_below ? 1 : 0) : rest + (is_below ? b : 0);
    }
    if (overflows) throw fault("an integer is too large");
    return out;
}

value real_arithmetic(std::string_view which, double a, double b) {
    if (which == "+") return a + b;
    if (which == "-") return a - b;
    if (which == "*") return a * b;
    if (b == 0) throw fault("a division by zero");
    if (which == "/") return a / b;
    double rest = std::fmod(a, b), quotient = (a - rest) / b;
    if (rest == 0) {
        rest = std::copysign(0.0, b);
    } else if ((rest < 0) != (b < 0)) {
        rest += b;
        quotient -= 1;
    }
    if (which == "%") return rest;
    return quotient == 0 ? std::copysign(0.0, a / b) : std::round(quotient);
}

std::optional<double> find_real(const value& of) {
    if (const auto* number = std::get_if<double>(&of)) return *number;
    std::int64_t room = 0;
    const auto* whole = find_integer(of, room);
    return whole != nullptr ? std::optional<double>(static_cast<double>(*whole)) : std::nullopt;
}

bool is_list_or_tuple(const value& of) {
    const auto* items = find_series(of);
    return items != nullptr && (items->what == series::kind::list || items->what == series::kind::tuple);
}

value joined(allowance& left, const value& a, const value& b) {
    if (const auto* head = find_text(a), *tail = find_text(b); head != nullptr && tail != nullptr)
        return make_text(left, *head + *tail);
    if (!is_list_or_tuple(a) || !is_list_or_tuple(b) || find_series(a)->what != find_series(b)->what)
        do_not_fit("+", a, b);
    auto items = find_series(a)->items;
    items.insert(items.end(), find_series(b)->items.begin(), find_series(b)->items.end());
    return make_series(left, find_series(a)->what, std::move(items));
}

value repeated(allowance& left, const value& what, std::int64_t times) {
    times = std::max<std::int64_t>(0, times);
    const auto count = static_cast<std::size_t>(times);
    const auto fits = [&](std::size_t bytes) {  // known before anything is made
        if (bytes != 0 && count > std::numeric_limits<std::size_t>::max() / bytes)
            throw fault("a text is repeated too often");
        left.make(bytes * count);
    };
    if (const auto* bytes = find_text(what)) {
        fits(bytes->size());
        std::string out;
        for (std::size_t i = 0; i < count && !bytes->empty(); ++i) out += *bytes;
        return make_text(left, out);
    }
    const auto& items = *find_series(what);
    fits(items.items.size() * sizeof(value));
    std::vector<value> out;
    for (std::size_t i = 0; i < count && !items.items.empty(); ++i)
        out.insert(out.end(), items.items.begin(), items.items.end());
    return make_series(left, items.what, std::move(out));
}

/// Where the characters of a text begin, and its end.
std::vector<std::size_t> character_places(allowance& left, std::string_view bytes) {
    left.make((bytes.size() + 1) * sizeof(std::size_t));
    std::vector<std::size_t> out;
    out.reserve(bytes.size() + 1);
    for (std::size_t at = 0; at < bytes.size(); at += first_character(bytes.substr(at)).size()) out.push_back(at);
    out.push_back(bytes.size());
    return out;
}

/// What a slice takes of a series that is `length` long, in order.
std::vector<std::int64_t> sliced_places(allowance& left, std::int64_t length, const std::optional<std::int64_t>& start,
                                        const std::optional<std::int64_t>& stop, std::int64_t step) {
    constexpr std::int64_t far = std::int64_t{1} << 40;  // beyond any series; sums of such do not overflow
    if (step == 0) throw fault("a slice with step 0");
    step = std::clamp(step, -far, far);
    const auto placed = [&](const std::optional<std::int64_t>& given, std::int64_t missing) {
        if (!given) return missing;
        const auto at = *given < 0 ? *given + length : *given;
        return step > 0 ? std::clamp<std::int64_t>(at, 0, length) : std::clamp<std::int64_t>(at, -1, length - 1);
    };
    const auto first = placed(start, step > 0 ? 0 : length - 1), last = placed(stop, step > 0 ? length : -1);
    left.make(static_cast<std::size_t>(length) * sizeof(std::int64_t));
    std::vector<std::int64_t> out;
    for (auto at = first; step > 0 ? at < last : at > last; at += step) out.push_back(at);
    return out;
}

}  // namespace

value arithmetic(allowance& left, std::string_view which, const value& a, const value& b) {
    std::int64_t room_a = 0, room_b = 0;
    const auto *whole_a = find_integer(a, room_a), *whole_b = find_integer(b, room_b);
    if (whole_a != nullptr && whole_b != nullptr) return whole_arithmetic(which, *whole_a, *whole_b);
    const auto real_a = find_real(a), real_b = find_real(b);
    if (real_a && real_b) return real_arithmetic(which, *real_a, *real_b);
    if (which == "+") return joined(left, a, b);
    if (which != "*") do_not_fit(which, a, b);
    const bool times_b = whole_b != nullptr && (find_text(a) != nullptr || is_list_or_tuple(a));
    const bool times_a = whole_a != nullptr && (find_text(b) != nullptr || is_list_or_tuple(b));
    if (!times_a && !times_b) do_not_fit(which, a, b);
    return times_b ? repeated(left, a, *whole_b) : repeated(left, b, *whole_a);
}

value negative(const value& of) {
    std::int64_t room = 0;
    if (const auto* whole = find_integer(of, room)) return whole_arithmetic("-", 0, *whole);
    if (const auto* number = std::get_if<double>(&of)) return -*number;
    throw fault(fmt::format("-({}) is not supported", describe_kind(of)));
}

value find_item(allowance& left, const value& object, const value& key, std::string_view name) {
    if (std::holds_alternative<undefined>(object))
        throw fault(fmt::format("an item of {} is asked for", describe_kind(object)));
    if (const auto* entries = find_mapping(object)) {
        const auto* found = find_key(left, *entries, key);
        return found != nullptr ? *found : undefined{name};
    }
    std::int64_t room = 0;
    const auto* index = find_integer(key, room);
    const auto* bytes = find_text(object);
    const auto* items = find_series(object);
    const bool has_places = bytes != nullptr || (items != nullptr && items->what <= series::kind::range);
    if (index == nullptr || !has_places) return undefined{name};
    const auto length = static_cast<std::int64_t>(find_length(left, object));
    const auto at = *index < 0 ? *index + length : *index;
    if (at < 0 || at >= length) return undefined{name};
    if (items != nullptr) return items->items[static_cast<std::size_t>(at)];
    left.read(bytes->size());
    std::string_view rest = *bytes;
    for (std::int64_t i = 0; i < at; ++i) rest.remove_prefix(first_character(rest).size());
    return make_text(left, first_character(rest));
}

value make_slice(allowance& left, const value& object, const std::optional<std::int64_t>& start,
                 const std::optional<std::int64_t>& stop, std::int64_t step) {
    if (const auto* bytes = find_text(object)) {
        const auto places = character_places(left, *bytes);
        std::string out;
        for (const auto at : sliced_places(left, static_cast<std::int64_t>(places.size() - 1), start, stop, step)) {
            const auto character = static_cast<std::size_t>(at);
            out.append(*bytes, places[character], places[character + 1] - places[character]);
        }
        return make_text(left, out);
    }
    if (!is_list_or_tuple(object)) throw fault(fmt::format("a slice of {} is not supported", describe_kind(object)));
    const auto& items = *find_series(object);
    std::vector<value> out;
    for (const auto at : sliced_places(left, static_cast<std::int64_t>(items.items.size()), start, stop, step))
        out.push_back(items.items[static_cast<std::size_t>(at)]);
    return make_series(left, items.what, std::move(out));
}

}  // namespace rldp::data::jinja
