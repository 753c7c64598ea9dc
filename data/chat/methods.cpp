#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/chat/operations.hpp"
#include "data/chat/python_text.hpp"

namespace rldp::data::jinja {

namespace {

using text_method = value (*)(allowance&, const std::string&, const arguments&);

template <ends which>
value strip(allowance& left, const std::string& text, const arguments& given) {
    const arranged all(given, {"chars"}, "strip");
    left.read(text.size());
    if (all.find(0) == nullptr || std::holds_alternative<none>(*all.find(0)))
        return make_text(left, stripped(text, which));
    left.search(text.size(), all.text(0).size());
    return make_text(left, stripped(text, which, all.text(0)));
}

value split(allowance& left, const std::string& text, const arguments& given) {
    const arranged all(given, {"sep", "maxsplit"}, "split");
    const auto most = all.integer(1, -1);
    const bool at_words = all.find(0) == nullptr || std::holds_alternative<none>(*all.find(0));
    left.search(text.size(), at_words ? 1 : all.text(0).size());
    if (!at_words && all.text(0).empty()) throw fault("'split' is given an empty separator");
    left.make(text.size() / (at_words ? 2 : all.text(0).size()) * sizeof(std::string_view));
    std::vector<value> out;
    for (const auto part : at_words ? split_words(text, most) : split_at(text, all.text(0), most)) {
        left.make(sizeof(value));
        out.push_back(make_text(left, part));
    }
    return make_series(left, series::kind::list, std::move(out));
}

/// Whether the text has one of the affixes: a text or a tuple of them.
template <typename has_type>
bool has_affix(const arguments& given, std::string_view name, has_type has) {
    const arranged all(given, {"affix"}, name);
    const auto* several = find_series(all.at(0));
    if (several == nullptr || several->what != series::kind::tuple) return has(all.text(0));
    return std::any_of(several->items.begin(), several->items.end(), [&](const value& one) {
        if (find_text(one) == nullptr) throw fault(fmt::format("'{}' needs a text, not {}", name, describe_kind(one)));
        return has(*find_text(one));
    });
}

value starts(allowance& left, const std::string& text, const arguments& given) {
    return has_affix(given, "startswith", [&](const std::string& affix) {
        left.read(affix.size() + 64);
        return text.starts_with(affix);
    });
}

value ends_so(allowance& left, const std::string& text, const arguments& given) {
    return has_affix(given, "endswith", [&](const std::string& affix) {
        left.read(affix.size() + 64);
        return text.ends_with(affix);
    });
}

template <std::string (*change)(std::string_view)>
value with_case(allowance& left, const std::string& text, const arguments& given) {
    const arranged none_given(given, {}, "upper, lower, title or capitalize");
    left.make(text.size());
    return make_text(left, change(text));
}

value replace_in(allowance& left, const std::string& text, const arguments& given) {
    const arranged all(given, {"old", "new", "count"}, "replace");
    return replaced(left, text, all.text(0), all.text(1), all.integer(2, -1));
}

value find(allowance& left, const std::string& text, const arguments& given) {
    const arranged all(given, {"sub"}, "find");
    left.search(text.size(), all.text(0).size());
    const auto at = text.find(all.text(0));
    if (at == std::string::npos) return std::int64_t{-1};
    return static_cast<std::int64_t>(count_characters(std::string_view(text).substr(0, at)));
}

value count(allowance& left, const std::string& text, const arguments& given) {
    const arranged all(given, {"sub"}, "count");
    if (all.text(0).empty()) throw fault("'count' is given an empty text");
    left.search(text.size(), all.text(0).size());
    std::int64_t out = 0;
    for (auto at = text.find(all.text(0)); at != std::string::npos;
         at = text.find(all.text(0), at + all.text(0).size()))
        ++out;
    return out;
}

value join_by(allowance& left, const std::string& text, const arguments& given) {
    const arranged all(given, {"items"}, "join");
    return joined_texts(left, *walk(left, all.at(0)), text, true);
}

value without_prefix(allowance& left, const std::string& text, const arguments& given) {
    const arranged all(given, {"prefix"}, "removeprefix");
    return make_text(left, std::string_view(text).substr(text.starts_with(all.text(0)) ? all.text(0).size() : 0));
}

value without_suffix(allowance& left, const std::string& text, const arguments& given) {
    const arranged all(given, {"suffix"}, "removesuffix");
    return make_text(
        left, std::string_view(text).substr(0, text.size() - (text.ends_with(all.text(0)) ? all.text(0).size() : 0)));
}

constexpr std::array<std::pair<std::string_view, text_method>, 16> text_methods = {{
    {"strip", strip<ends::both>},
    {"lstrip", strip<ends::left>},
    {"rstrip", strip<ends::right>},
    {"split", split},
    {"startswith", starts},
    {"endswith", ends_so},
    {"upper", with_case<upper>},
    {"lower", with_case<lower>},
    {"title", with_case<title_of_method>},
    {"capitalize", with_case<capitalized>},
    {"replace", replace_in},
    {"find", find},
    {"count", count},
    {"join", join_by},
    {"removeprefix", without_prefix},
    {"removesuffix", without_suffix},
}};

value dict_method(allowance& left, const mapping& in, std::string_view name, const arguments& given) {
    if (name == "get") {
        const arranged all(given, {"key", "default"}, name);
        const auto* found = find_key(left, in, all.at(0));
        return found != nullptr ? *found : all.find(1) != nullptr ? *all.find(1) : value(none{});
    }
    const arranged none_given(given, {}, name);
    std::vector<value> out;
    for (const auto& [key, held] : in.entries) {
        if (name == "items")
            out.push_back(make_series(left, series::kind::tuple, {key, held}));
        else
            out.push_back(name == "keys" ? key : held);
    }
    return make_series(left, series::kind::view, std::move(out));
}

template <std::size_t count>
bool is_among(std::string_view name, const std::array<std::string_view, count>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_method(const value& of, std::string_view name) {
    static constexpr std::array<std::string_view, 11> of_dicts = {
        "clear", "copy", "fromkeys", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"};
    static constexpr std::array<std::string_view, 11> of_lists = {
        "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"};
    static constexpr std::array<std::string_view, 31> more_of_texts = {
        "casefold", "center",     "encode",    "expandtabs", "format",       "format_map", "index",     "isalnum",
        "isalpha",  "isascii",    "isdecimal", "isdigit",    "isidentifier", "islower",    "isnumeric", "isprintable",
        "isspace",  "istitle",    "isupper",   "ljust",      "maketrans",    "partition",  "rfind",     "rindex",
        "rjust",    "rpartition", "rsplit",    "splitlines", "swapcase",     "translate",  "zfill"};
    if (find_mapping(of) != nullptr) return is_among(name, of_dicts);
    if (find_series(of) != nullptr) return is_among(name, of_lists);
    if (find_text(of) == nullptr) return false;
    return is_among(name, more_of_texts) ||
           std::any_of(text_methods.begin(), text_methods.end(), [&](const auto& one) { return one.first == name; });
}

value called_method(allowance& left, const value& of, std::string_view name, const arguments& given) {
    if (const auto* text = find_text(of))
        for (const auto& [known, method] : text_methods)
            if (known == name) return method(left, *text, given);
    if (const auto* entries = find_mapping(of))
        if (name == "get" || name == "items" || name == "keys" || name == "values")
            return dict_method(left, *entries, name, given);
    throw fault(
        fmt::format("the method '{}' of {} is not supported; write the line without it", name, describe_kind(of)));
}

}  // namespace rldp::data::jinja
