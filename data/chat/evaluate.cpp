// Expressions.
#include <fmt/format.h>

#include <optional>

#include "data/chat/interpreter.hpp"
#include "data/chat/operations.hpp"

namespace rldp::data::jinja {

value interpreter::evaluate(node_id which) {
    const descent deeper(depth_);
    left_.step();
    const node& here = at(which);
    line_ = here.line;
    switch (here.what) {
        case op::nothing:
            return undefined{};
        case op::constant:
            return here.constant;
        case op::name:
            return named(here.name);
        case op::attribute:
            return attribute(evaluate(here.parts[0]), here.name);
        case op::choice:
            if (is_true(evaluate(here.parts[0]))) return evaluate(here.parts[1]);
            return evaluate(here.parts[2]);
        case op::both:
        case op::either:
            return logical(here);
        case op::item:
            return item(here);
        case op::call:
            return call(here);
        default:
            return evaluate_operation(here);
    }
}

value interpreter::evaluate_operation(const node& here) {
    switch (here.what) {
        case op::slice:
            return slice(here);
        case op::negation:
            return !is_true(evaluate(here.parts[0]));
        case op::minus:
            return negative(evaluate(here.parts[0]));
        case op::plus:
            return arithmetic(left_, "+", std::int64_t{0}, evaluate(here.parts[0]));
        case op::concatenation:
            return concatenation(here);
        case op::comparison:
            return comparison(here);
        case op::list:
            return make_series(left_, series::kind::list, evaluate_all(here));
        case op::tuple:
            return make_series(left_, series::kind::tuple, evaluate_all(here));
        case op::dict:
            return dict(here);
        case op::arithmetic: {
            const auto a = evaluate(here.parts[0]), b = evaluate(here.parts[1]);
            return arithmetic(left_, here.name, a, b);
        }
        case op::filter: {
            const auto of = evaluate(here.parts[0]);
            const auto given = evaluate_arguments(here);
            return filtered(left_, here.name, of, given);
        }
        case op::test: {
            const auto of = evaluate(here.parts[0]);
            const auto given = evaluate_arguments(here);
            return passes(left_, here.name, of, given);
        }
        default:
            throw fault("this is no expression");
    }
}

value interpreter::named(std::string_view name) const {
    for (auto level = scopes_.size() - 1;; level = scopes_[level].parent) {
        const auto found = scopes_[level].names.find(name);
        if (found != scopes_[level].names.end()) return found->second;
        if (scopes_[level].parent == level) break;
    }
    using enum function::kind;
    if (name == "raise_exception") return function{raise_exception};
    if (name == "strftime_now" && today_) return function{strftime_now};
    if (name == "range") return function{function::kind::range};
    if (name == "namespace") return function{make_namespace};
    if (name == "dict") return function{make_dict};
    return undefined{name};
}

value interpreter::attribute(const value& object, std::string_view name) {
    if (std::holds_alternative<undefined>(object))
        throw fault(fmt::format("'{}' of {} is asked for", name, describe_kind(object)));
    if (const auto* place = std::get_if<std::shared_ptr<const loop_place>>(&object))
        return loop_attribute(**place, name);
    if (const auto* of = std::get_if<space*>(&object)) {
        const auto found = (*of)->names.find(name);
        return found != (*of)->names.end() ? found->second : undefined{name};
    }
    if (is_method(object, name)) throw fault(fmt::format("the method '{}' is not called", name));
    if (const auto* entries = find_mapping(object)) {
        left_.step(entries->entries.size() / 4);
        for (const auto& [key, held] : entries->entries)
            if (const auto* bytes = find_text(key); bytes != nullptr && *bytes == name) return held;
    }
    return undefined{name};
}

value interpreter::loop_attribute(const loop_place& place, std::string_view name) {
    const auto& items = place.items->items;
    const auto count = [](std::size_t of) { return static_cast<std::int64_t>(of); };
    if (name == "index") return count(place.index + 1);
    if (name == "index0") return count(place.index);
    if (name == "first") return place.index == 0;
    if (name == "last") return place.index + 1 == items.size();
    if (name == "length") return count(items.size());
    if (name == "revindex") return count(items.size() - place.index);
    if (name == "revindex0") return count(items.size() - place.index - 1);
    if (name == "depth") return count(1);  // of recursion, not of nesting
    if (name == "depth0") return count(0);
    if (name == "previtem") return place.index > 0 ? items[place.index - 1] : undefined{"loop.previtem"};
    if (name == "nextitem") return place.index + 1 < items.size() ? items[place.index + 1] : undefined{"loop.nextitem"};
    throw fault(fmt::format("'loop.{}' is not supported", name));
}

value interpreter::item(const node& here) {
    const auto object = evaluate(here.parts[0]), key = evaluate(here.parts[1]);
    const auto* literal = find_text(at(here.parts[1]).constant);
    const bool has_attributes =
        std::holds_alternative<space*>(object) || std::holds_alternative<std::shared_ptr<const loop_place>>(object);
    if (has_attributes && literal != nullptr) return attribute(object, *literal);
    if (has_attributes) throw fault(fmt::format("[] of {} needs a literal text", describe_kind(object)));
    return find_item(left_, object, key, literal != nullptr ? std::string_view(*literal) : std::string_view());
}

value interpreter::slice(const node& here) {
    const auto object = evaluate(here.parts[0]);
    const auto bound = [&](std::size_t part) -> std::optional<std::int64_t> {
        if (here.parts[part] == 0) return std::nullopt;
        const auto given = evaluate(here.parts[part]);
        if (std::holds_alternative<none>(given)) return std::nullopt;
        std::int64_t room = 0;
        const auto* whole = find_integer(given, room);
        if (whole == nullptr) throw fault(fmt::format("{} bounds no slice", describe_kind(given)));
        return *whole;
    };
    const auto start = bound(1), stop = bound(2), step = bound(3);
    return make_slice(left_, object, start, stop, step.value_or(1));
}

value interpreter::comparison(const node& here) {
    auto a = evaluate(here.parts[0]);
    for (std::size_t i = 0; i < here.name.size(); ++i) {
        auto b = evaluate(here.parts[i + 1]);
        bool holds = false;
        switch (here.name[i]) {
            case '=':
                holds = are_equal(left_, a, b);
                break;
            case '!':
                holds = !are_equal(left_, a, b);
                break;
            case '<':
                holds = is_less(left_, a, b);
                break;
            case '>':
                holds = is_less(left_, b, a);
                break;
            case 'l':
                holds = is_less(left_, a, b) || are_equal(left_, a, b);
                break;
            case 'g':
                holds = is_less(left_, b, a) || are_equal(left_, a, b);
                break;
            case 'i':
                holds = contains(left_, b, a);
                break;
            default:
                holds = !contains(left_, b, a);
        }
        if (!holds) return false;
        a = std::move(b);
    }
    return true;
}

/// `and` and `or` give the operand that decides.
value interpreter::logical(const node& here) {
    value out;
    for (const auto part : here.parts) {
        out = evaluate(part);
        if (is_true(out) == (here.what == op::either)) break;
    }
    return out;
}

value interpreter::concatenation(const node& here) {
    growing out(left_);
    for (const auto part : here.parts) write(out, evaluate(part));
    return make_text(left_, out.text());
}

std::vector<value> interpreter::evaluate_all(const node& here) {
    std::vector<value> out;
    for (const auto part : here.parts) out.push_back(evaluate(part));
    return out;
}

value interpreter::dict(const node& here) {
    std::vector<std::pair<value, value>> entries;
    for (std::size_t i = 0; i < here.parts.size(); i += 2) {
        auto key = evaluate(here.parts[i]);
        entries.emplace_back(std::move(key), evaluate(here.parts[i + 1]));
    }
    return make_mapping(left_, std::move(entries));
}

}  // namespace rldp::data::jinja
