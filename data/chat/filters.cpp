#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "data/chat/operations.hpp"
#include "data/chat/python_text.hpp"

namespace rldp::data::jinja {

namespace {

using filter = value (*)(allowance&, const value&, const arguments&);

value trim(allowance& left, const value& of, const arguments& given) {
    const arranged all(given, {"chars"}, "trim");
    const auto text = as_text(left, of);
    if (all.find(0) == nullptr || std::holds_alternative<none>(*all.find(0))) return make_text(left, stripped(text));
    left.search(text.size(), all.text(0).size());
    return make_text(left, stripped(text, ends::both, all.text(0)));
}

value to_json(allowance& left, const value& of, const arguments& given) {
    const arranged all(given, {"ensure_ascii", "indent"}, "tojson");
    if (all.find(0) != nullptr && is_true(*all.find(0))) throw fault("'tojson' with ensure_ascii is not supported");
    growing out(left);
    write_json(out, of, all.integer(1, -1));
    return make_text(left, out.text());
}

value length(allowance& left, const value& of, const arguments& given) {
    const arranged none_given(given, {}, "length");
    return static_cast<std::int64_t>(find_length(left, of));
}

template <std::string (*change)(std::string_view)>
value in_case(allowance& left, const value& of, const arguments& given) {
    const arranged none_given(given, {}, "upper, lower, title or capitalize");
    return make_text(left, change(as_text(left, of)));
}

/// item.a.b by a dotted path, of which parts may be numbers; `otherwise` where one is undefined.
value by_path(allowance& left, value item, const value& path, const value* otherwise) {
    if (std::holds_alternative<std::int64_t>(path)) {
        item = find_item(left, item, path, {});
    } else {
        const auto* dotted = find_text(path);
        if (dotted == nullptr) throw fault(fmt::format("{} names no attribute", describe_kind(path)));
        for (const auto part : split_at(*dotted, ".", -1)) {
            std::int64_t index = 0;
            const bool is_index = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos &&
                                  std::from_chars(part.data(), part.data() + part.size(), index).ec == std::errc();
            item = find_item(left, item, is_index ? value(index) : make_text(left, part), {});
            if (otherwise != nullptr && std::holds_alternative<undefined>(item)) item = *otherwise;
        }
    }
    return item;
}

value join(allowance& left, const value& of, const arguments& given) {
    const arranged all(given, {"d", "attribute"}, "join");
    auto items = walk(left, of);
    if (all.find(1) != nullptr && !std::holds_alternative<none>(*all.find(1))) {
        std::vector<value> held;
        for (const auto& item : items->items) held.push_back(by_path(left, item, all.at(1), nullptr));
        items = walk(left, make_series(left, series::kind::list, std::move(held)));
    }
    return joined_texts(left, *items, all.find(0) != nullptr ? as_text(left, all.at(0)) : "", false);
}

value otherwise(allowance& left, const value& of, const arguments& given) {
    const arranged all(given, {"default_value", "boolean"}, "default");
    const bool falls_back =
        std::holds_alternative<undefined>(of) || (all.find(1) != nullptr && is_true(*all.find(1)) && !is_true(of));
    if (!falls_back) return of;
    return all.find(0) != nullptr ? *all.find(0) : make_text(left, "");
}

value replace(allowance& left, const value& of, const arguments& given) {
    const arranged all(given, {"old", "new", "count"}, "replace");
    return replaced(left, as_text(left, of), as_text(left, all.at(0)), as_text(left, all.at(1)), all.integer(2, -1));
}

value first(allowance& left, const value& of, const arguments& given) {
    const arranged none_given(given, {}, "first");
    const auto items = walk(left, of);
    return items->items.empty() ? undefined{"first of nothing"} : items->items.front();
}

value last(allowance& left, const value& of, const arguments& given) {
    const arranged none_given(given, {}, "last");
    if (const auto* items = find_series(of); items != nullptr && items->what == series::kind::once)
        throw fault("'last' of a generator; make it a list first");
    const auto items = walk(left, of);
    return items->items.empty() ? undefined{"last of nothing"} : items->items.back();
}

value string(allowance& left, const value& of, const arguments& given) {
    const arranged none_given(given, {}, "string");
    return find_text(of) != nullptr ? of : make_text(left, as_text(left, of));
}

/// What Python's int() or else int(float()) reads. Nothing where it is no number or one beyond 64 bits.
std::optional<std::int64_t> read_integer(std::string_view text) {
    std::string written(stripped(text));
    if (written.starts_with('+') && !written.starts_with("+-")) written.erase(0, 1);
    const auto *begin = written.data(), *end = begin + written.size();
    std::int64_t whole = 0;
    if (const auto read = std::from_chars(begin, end, whole); read.ec == std::errc() && read.ptr == end) return whole;
    double number = 0;
    const auto read = std::from_chars(begin, end, number);
    const bool fits = read.ec == std::errc() && read.ptr == end && std::abs(number) < 9e18;  // not of NaN
    return fits ? std::optional<std::int64_t>(static_cast<std::int64_t>(number)) : std::nullopt;
}

value integer(allowance& left, const value& of, const arguments& given) {
    const arranged all(given, {"default"}, "int");
    std::int64_t room = 0;
    if (const auto* whole = find_integer(of, room)) return *whole;
    if (std::holds_alternative<undefined>(of)) throw fault(describe_kind(of) + " can't be made an integer");
    std::optional<std::int64_t> out;
    if (const auto* number = std::get_if<double>(&of); number != nullptr && std::abs(*number) < 9e18)
        out = static_cast<std::int64_t>(*number);
    if (const auto* text = find_text(of)) {
        left.read(text->size());
        if (text->find('_') != std::string::npos) throw fault("'int' of a text with underscores is not supported");
        out = read_integer(*text);
    }
    return out ? value(*out) : all.find(0) != nullptr ? *all.find(0) : value(std::int64_t{0});
}

value list(allowance& left, const value& of, const arguments& given) {
    const arranged none_given(given, {}, "list");
    return make_series(left, series::kind::list, walk(left, of)->items);
}

value items(allowance& left, const value& of, const arguments& given) {
    const arranged none_given(given, {}, "items");
    std::vector<value> out;
    if (const auto* entries = find_mapping(of)) {
        for (const auto& [key, held] : entries->entries)
            out.push_back(make_series(left, series::kind::tuple, {key, held}));
    } else if (!std::holds_alternative<undefined>(of)) {
        throw fault(fmt::format("'items' needs a dict, not {}", describe_kind(of)));
    }
    return make_series(left, series::kind::once, std::move(out));
}

value reverse(allowance& left, const value& of, const arguments& given) {
    const arranged none_given(given, {}, "reverse");
    if (find_text(of) != nullptr) return make_slice(left, of, {}, {}, -1);
    const auto items = walk(left, of);
    return make_series(left, series::kind::once, {items->items.rbegin(), items->items.rend()});
}

value absolute(allowance& left, const value& of, const arguments& given) {
    const arranged none_given(given, {}, "abs");
    std::int64_t room = 0;
    const auto* whole = find_integer(of, room);
    const value number = whole != nullptr ? value(*whole) : of;
    return is_less(left, number, std::int64_t{0}) ? negative(number) : number;
}

/// The name at the head of `given`, and what is given behind it.
std::pair<std::string, arguments> inner_call(const arguments& given, std::size_t at, std::string_view whose) {
    const auto* name = find_text(given.positional[at]);
    if (name == nullptr) throw fault(fmt::format("'{}' needs the name of a filter or test", whose));
    arguments rest{{given.positional.begin() + static_cast<std::ptrdiff_t>(at) + 1, given.positional.end()},
                   given.named};
    return {*name, std::move(rest)};
}

value map(allowance& left, const value& of, const arguments& given) {
    const auto items = walk(left, of);
    std::vector<value> out;
    if (given.positional.empty()) {
        const arranged all(given, {"attribute", "default"}, "map");
        for (const auto& item : items->items) out.push_back(by_path(left, item, all.at(0), all.find(1)));
    } else {
        const auto [name, rest] = inner_call(given, 0, "map");
        // One within another would be as deep as its arguments are many.
        if (name == "map") throw fault("'map' of 'map' is not supported");
        for (const auto& item : items->items) {
            left.step();
            out.push_back(filtered(left, name, item, rest));
        }
    }
    return make_series(left, series::kind::once, std::move(out));
}

/// select, reject, selectattr and rejectattr: what passes a test itself or by an attribute.
template <bool wanted, bool by_attribute>
value chosen(allowance& left, const value& of, const arguments& given) {
    const std::size_t at = by_attribute ? 1 : 0;
    if (given.positional.size() < at) throw fault("'selectattr' and 'rejectattr' need an attribute");
    std::pair<std::string, arguments> test;
    const bool is_tested = given.positional.size() > at;
    if (is_tested) test = inner_call(given, at, "select");
    const auto items = walk(left, of);
    std::vector<value> out;
    for (const auto& item : items->items) {
        left.step();
        const auto looked_at = by_attribute ? by_path(left, item, given.positional[0], nullptr) : item;
        const bool holds = is_tested ? passes(left, test.first, looked_at, test.second) : is_true(looked_at);
        if (holds == wanted) out.push_back(item);
    }
    return make_series(left, series::kind::once, std::move(out));
}

constexpr std::array<std::pair<std::string_view, filter>, 25> filters = {{
    {"trim", trim},
    {"tojson", to_json},
    {"length", length},
    {"count", length},
    {"upper", in_case<upper>},
    {"lower", in_case<lower>},
    {"title", in_case<title_of_filter>},
    {"capitalize", in_case<capitalized>},
    {"join", join},
    {"default", otherwise},
    {"d", otherwise},
    {"replace", replace},
    {"first", first},
    {"last", last},
    {"string", string},
    {"int", integer},
    {"list", list},
    {"items", items},
    {"reverse", reverse},
    {"abs", absolute},
    {"map", map},
    {"select", chosen<true, false>},
    {"reject", chosen<false, false>},
    {"selectattr", chosen<true, true>},
    {"rejectattr", chosen<false, true>},
}};

}  // namespace

value filtered(allowance& left, std::string_view name, const value& of, const arguments& given) {
    for (const auto& [known, filter] : filters)
        if (known == name) return filter(left, of, given);
    throw fault(fmt::format("the filter '{}' is not supported; write the line without it", name));
}

value replaced(allowance& left, const std::string& text, const std::string& old, const std::string& by,
               std::int64_t most) {
    if (old.empty()) throw fault("'replace' of an empty text is not supported");
    left.search(text.size(), old.size());
    growing out(left);
    std::string_view rest = text;
    for (std::size_t at = 0; most != 0 && (at = rest.find(old)) != std::string_view::npos; --most) {
        left.step();
        out.add(rest.substr(0, at));
        out.add(by);
        rest.remove_prefix(at + old.size());
    }
    out.add(rest);
    return make_text(left, out.text());
}

value joined_texts(allowance& left, const series& items, std::string_view separator, bool only_texts) {
    growing out(left);
    bool first_one = true;
    for (const auto& item : items.items) {
        left.step();
        if (only_texts && find_text(item) == nullptr)
            throw fault(fmt::format("'join' needs texts, not {}", describe_kind(item)));
        if (!std::exchange(first_one, false)) out.add(separator);
        write(out, item);
    }
    return make_text(left, out.text());
}

}  // namespace rldp::data::jinja
