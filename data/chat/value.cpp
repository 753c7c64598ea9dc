#include "data/chat/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/chat/python_text.hpp"

namespace rldp::data::jinja {

namespace {

constexpr unsigned deepest_value = 48;       // of JSON schemas in messages, real ones need ten
constexpr std::size_t bytes_of_object = 64;  // beside what it holds: its counts and its own fields

unsigned find_depth(const value& of) {
    if (const auto* items = find_series(of)) return items->depth;
    if (const auto* entries = find_mapping(of)) return entries->depth;
    const auto* place = std::get_if<std::shared_ptr<const loop_place>>(&of);
    return place != nullptr ? (*place)->items->depth + 1 : 0;
}

unsigned one_deeper(unsigned depth) {
    if (depth >= deepest_value) throw fault(fmt::format("lists nested deeper than {} levels", deepest_value));
    return depth + 1;
}

bool is_number(const value& of) {
    return std::holds_alternative<bool>(of) || std::holds_alternative<std::int64_t>(of) ||
           std::holds_alternative<double>(of);
}

double to_number(const value& of) {
    std::int64_t room = 0;
    const auto* whole = find_integer(of, room);
    return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(of);
}

bool are_equal_series(allowance& left, const series& a, const series& b) {
    if (&a == &b) return true;
    const bool comparable = a.what == b.what && (a.what == series::kind::list || a.what == series::kind::tuple) &&
                            a.items.size() == b.items.size();
    if (!comparable) return false;
    for (std::size_t i = 0; i < a.items.size(); ++i)
        if (!are_equal(left, a.items[i], b.items[i])) return false;
    return true;
}

bool are_equal_mappings(allowance& left, const mapping& a, const mapping& b) {
    if (a.entries.size() != b.entries.size()) return false;
    return std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
        const auto* other = find_key(left, b, entry.first);
        return other != nullptr && are_equal(left, entry.second, *other);
    });
}

}  // namespace

value make_text(allowance& left, std::string_view bytes) {
    left.make(bytes.size() + bytes_of_object);
    return std::make_shared<const std::string>(bytes);
}

value make_series(allowance& left, series::kind what, std::vector<value> items) {
    left.make(items.size() * sizeof(value) + bytes_of_object);
    unsigned depth = 0;
    for (const auto& item : items) depth = std::max(depth, find_depth(item));
    return std::make_shared<const series>(series{what, std::move(items), one_deeper(depth)});
}

value make_mapping(allowance& left, const std::vector<std::pair<value, value>>& entries) {
    left.make(entries.size() * 2 * sizeof(value) + bytes_of_object);
    mapping out;
    unsigned depth = 0;
    for (const auto& [key, held] : entries) {
        if (find_depth(key) > 0 || std::holds_alternative<undefined>(key))
            throw fault(fmt::format("{} can't be the key of a dict here", describe_kind(key)));
        depth = std::max(depth, find_depth(held));
        const auto before = std::find_if(out.entries.begin(), out.entries.end(), [&, &name = key](const auto& entry) {
            return are_equal(left, entry.first, name);
        });
        if (before != out.entries.end())
            before->second = held;
        else
            out.entries.emplace_back(key, held);
    }
    out.depth = one_deeper(depth);
    return std::make_shared<const mapping>(std::move(out));
}

const std::string* find_text(const value& of) {
    const auto* held = std::get_if<shared_text>(&of);
    return held != nullptr ? held->get() : nullptr;
}

const series* find_series(const value& of) {
    const auto* held = std::get_if<std::shared_ptr<const series>>(&of);
    return held != nullptr ? held->get() : nullptr;
}

const mapping* find_mapping(const value& of) {
    const auto* held = std::get_if<std::shared_ptr<const mapping>>(&of);
    return held != nullptr ? held->get() : nullptr;
}

const std::int64_t* find_integer(const value& of, std::int64_t& room) {
    if (const auto* flag = std::get_if<bool>(&of)) {
        room = *flag ? 1 : 0;
        return &room;
    }
    return std::get_if<std::int64_t>(&of);
}

std::string describe_kind(const value& of) {
    if (const auto* missing = std::get_if<undefined>(&of))
        return missing->name.empty() ? "something undefined" : fmt::format("undefined '{}'", missing->name);
    if (const auto* items = find_series(of)) {
        static constexpr const char* names[] = {"a list", "a tuple", "a range", "a view", "a generator"};
        return names[static_cast<std::size_t>(items->what)];
    }
    static constexpr const char* names[] = {"undefined", "none",        "a truth value", "an integer",
                                            "a number",  "a text",      "a list",        "a dict",
                                            "the loop",  "a namespace", "a function"};
    return names[of.index()];
}

bool is_true(const value& of) {
    if (std::holds_alternative<undefined>(of) || std::holds_alternative<none>(of)) return false;
    if (is_number(of)) return to_number(of) != 0;
    if (const auto* bytes = find_text(of)) return !bytes->empty();
    if (const auto* items = find_series(of)) return items->what == series::kind::once || !items->items.empty();
    if (const auto* entries = find_mapping(of)) return !entries->entries.empty();
    return true;
}

bool are_equal(allowance& left, const value& a, const value& b) {
    left.step();
    if (is_number(a) && is_number(b)) {
        std::int64_t room_a = 0, room_b = 0;
        const auto *whole_a = find_integer(a, room_a), *whole_b = find_integer(b, room_b);
        if (whole_a != nullptr && whole_b != nullptr) return *whole_a == *whole_b;
        return to_number(a) == to_number(b);
    }
    if (a.index() != b.index()) return false;
    if (const auto* bytes = find_text(a)) {
        left.read(bytes->size());
        return *bytes == *find_text(b);
    }
    if (const auto* items = find_series(a)) return are_equal_series(left, *items, *find_series(b));
    if (const auto* entries = find_mapping(a)) return are_equal_mappings(left, *entries, *find_mapping(b));
    if (const auto* named = std::get_if<space*>(&a)) return *named == std::get<space*>(b);
    if (const auto* called = std::get_if<function>(&a)) {
        const auto& other = std::get<function>(b);
        return called->what == other.what && called->macro == other.macro;
    }
    if (const auto* place = std::get_if<std::shared_ptr<const loop_place>>(&a))
        return *place == std::get<std::shared_ptr<const loop_place>>(b);
    return true;  // both undefined, or both none
}

bool is_less(allowance& left, const value& a, const value& b) {
    std::int64_t room_a = 0, room_b = 0;
    const auto *whole_a = find_integer(a, room_a), *whole_b = find_integer(b, room_b);
    if (whole_a != nullptr && whole_b != nullptr) return *whole_a < *whole_b;
    if (is_number(a) && is_number(b)) return to_number(a) < to_number(b);
    const auto *text_a = find_text(a), *text_b = find_text(b);
    if (text_a == nullptr || text_b == nullptr)
        throw fault(fmt::format("{} and {} have no order", describe_kind(a), describe_kind(b)));
    left.read(text_a->size());
    return *text_a < *text_b;
}

bool contains(allowance& left, const value& holder, const value& wanted) {
    if (const auto* bytes = find_text(holder)) {
        const auto* part = find_text(wanted);
        if (part == nullptr) throw fault(fmt::format("{} can't be looked for in a text", describe_kind(wanted)));
        left.search(bytes->size(), part->size());
        return bytes->find(*part) != std::string::npos;
    }
    if (const auto* entries = find_mapping(holder)) return find_key(left, *entries, wanted) != nullptr;
    const auto items = walk(left, holder);
    return std::any_of(items->items.begin(), items->items.end(),
                       [&](const value& item) { return are_equal(left, item, wanted); });
}

const value* find_key(allowance& left, const mapping& in, const value& key) {
    if (find_depth(key) > 0) throw fault(fmt::format("{} can't be the key of a dict here", describe_kind(key)));
    for (const auto& [name, held] : in.entries)
        if (are_equal(left, name, key)) return &held;
    return nullptr;
}

std::size_t find_length(allowance& left, const value& of) {
    if (std::holds_alternative<undefined>(of)) return 0;
    if (const auto* bytes = find_text(of)) {
        left.read(bytes->size());
        return count_characters(*bytes);
    }
    if (const auto* entries = find_mapping(of)) return entries->entries.size();
    const auto* items = find_series(of);
    if (items == nullptr || items->what == series::kind::once) throw fault(describe_kind(of) + " has no length");
    return items->items.size();
}

std::shared_ptr<const series> walk(allowance& left, const value& of) {
    if (const auto* items = std::get_if<std::shared_ptr<const series>>(&of)) {
        if ((*items)->what == series::kind::once) {
            if ((*items)->walked)
                throw fault("a generator is used a second time, when it is empty; make it a list first");
            (*items)->walked = true;
        }
        return *items;
    }
    std::vector<value> out;
    if (const auto* bytes = find_text(of)) {
        for (std::string_view rest = *bytes; !rest.empty(); rest.remove_prefix(first_character(rest).size())) {
            left.make(sizeof(value));  // a list that grows holds twice what it needs
            out.push_back(make_text(left, first_character(rest)));
        }
    } else if (const auto* entries = find_mapping(of)) {
        for (const auto& entry : entries->entries) out.push_back(entry.first);
    } else if (!std::holds_alternative<undefined>(of)) {
        throw fault(describe_kind(of) + " can't be gone through");
    }
    return std::get<std::shared_ptr<const series>>(make_series(left, series::kind::list, std::move(out)));
}

}  // namespace rldp::data::jinja
