#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "data/chat/interpreter.hpp"
#include "data/chat/operations.hpp"

namespace rldp::data::jinja {

arranged::arranged(const arguments& given, std::initializer_list<std::string_view> parameters, std::string_view whose)
    : found_(parameters.size()), whose_(whose) {
    if (given.positional.size() > parameters.size())
        throw fault(fmt::format("'{}' is given too many arguments", whose));
    for (std::size_t i = 0; i < given.positional.size(); ++i) found_[i] = &given.positional[i];
    for (const auto& [name, held] : given.named) {
        const auto at = std::find(parameters.begin(), parameters.end(), name);
        if (at == parameters.end()) throw fault(fmt::format("the argument '{}' of '{}' is not supported", name, whose));
        auto& place = found_[static_cast<std::size_t>(at - parameters.begin())];
        if (place != nullptr) throw fault(fmt::format("the argument '{}' of '{}' is given twice", name, whose));
        place = &held;
    }
}

const value& arranged::at(std::size_t index) const {
    if (found_[index] == nullptr) throw fault(fmt::format("'{}' is given too few arguments", whose_));
    return *found_[index];
}

const std::string& arranged::text(std::size_t index) const {
    const auto* out = find_text(at(index));
    if (out == nullptr) throw fault(fmt::format("'{}' needs a text, not {}", whose_, describe_kind(at(index))));
    return *out;
}

std::int64_t arranged::integer(std::size_t index, std::int64_t missing) const {
    if (found_[index] == nullptr || std::holds_alternative<none>(*found_[index])) return missing;
    const auto* out = std::get_if<std::int64_t>(found_[index]);
    if (out == nullptr) throw fault(fmt::format("'{}' needs an integer, not {}", whose_, describe_kind(at(index))));
    return *out;
}

// Calls of macros, of functions that are always there, and of methods.

arguments interpreter::evaluate_arguments(const node& here) {
    arguments out;
    for (std::size_t i = 1; i < here.parts.size(); ++i) {
        const node& part = at(here.parts[i]);
        if (part.what == op::keyword)
            out.named.emplace_back(part.name, evaluate(part.parts[0]));
        else
            out.positional.push_back(evaluate(here.parts[i]));
    }
    return out;
}

value interpreter::call(const node& here) {
    const node& callee = at(here.parts[0]);
    value called;
    if (callee.what == op::attribute) {
        const auto object = evaluate(callee.parts[0]);
        if (is_method(object, callee.name)) {
            const auto given = evaluate_arguments(here);
            line_ = here.line;
            return called_method(left_, object, callee.name, given);
        }
        called = attribute(object, callee.name);
    } else {
        called = evaluate(here.parts[0]);
    }
    const auto given = evaluate_arguments(here);
    line_ = here.line;
    const auto* which = std::get_if<function>(&called);
    if (which == nullptr) throw fault(describe_kind(called) + " can't be called");
    return call_function(*which, given);
}

value interpreter::call_function(const function& which, const arguments& given) {
    switch (which.what) {
        case function::kind::macro:
            return call_macro(which.macro, given);
        case function::kind::raise_exception:
            throw fault("the template refuses: " +
                        as_text(left_, arranged(given, {"message"}, "raise_exception").at(0)));
        case function::kind::strftime_now:
            return date(arranged(given, {"format"}, "strftime_now").text(0));
        case function::kind::range:
            return range(given);
        case function::kind::make_namespace: {
            if (!given.positional.empty())
                throw fault("'namespace' of a dict is not supported; name each of its values");
            left_.make(sizeof(space));
            spaces_.push_back(std::make_unique<space>());
            for (const auto& [name, held] : given.named) {
                left_.make(name.size() + sizeof(value));
                spaces_.back()->names.insert_or_assign(std::string(name), held);
            }
            return spaces_.back().get();
        }
        default:
            break;
    }
    if (!given.positional.empty()) throw fault("'dict' of another is not supported; name each of its values");
    std::vector<std::pair<value, value>> entries;
    for (const auto& [name, held] : given.named) entries.emplace_back(make_text(left_, name), held);
    return make_mapping(left_, std::move(entries));
}

value interpreter::call_macro(node_id which, const arguments& given) {
    const node& macro = at(which);
    const std::size_t parameters = macro.parts.size() - 1;
    if (given.positional.size() > parameters)
        throw fault(fmt::format("the macro '{}' is given too many arguments", macro.name));
    std::map<std::string_view, value> names;
    for (std::size_t i = 0; i < given.positional.size(); ++i) names[at(macro.parts[i]).name] = given.positional[i];
    for (const auto& [name, held] : given.named) {
        const auto has_name = [&, &wanted = name](node_id part) { return at(part).name == wanted; };
        if (!std::any_of(macro.parts.begin(), macro.parts.end() - 1, has_name))
            throw fault(fmt::format("the macro '{}' has no parameter '{}'", macro.name, name));
        if (!names.emplace(name, held).second)
            throw fault(fmt::format("the macro '{}' is given '{}' twice", macro.name, name));
    }
    growing said(left_);
    auto* const before = std::exchange(out_, &said);
    push(0);  // it sees the template's own variables, not the caller's
    scopes_.back().names = std::move(names);
    for (std::size_t i = 0; i < parameters; ++i) {
        const node& parameter = at(macro.parts[i]);
        if (scopes_.back().names.contains(parameter.name)) continue;
        auto missing = parameter.parts[0] != 0 ? evaluate(parameter.parts[0]) : undefined{parameter.name};
        scopes_.back().names.emplace(parameter.name, std::move(missing));
    }
    execute(macro.parts.back());
    pop();
    out_ = before;
    return make_text(left_, said.text());
}

value interpreter::range(const arguments& given) {
    const arranged all(given, {"start", "stop", "step"}, "range");
    const bool from_0 = all.find(1) == nullptr;
    const auto first = from_0 ? 0 : all.integer(0, 0), last = all.integer(from_0 ? 0 : 1, 0), step = all.integer(2, 1);
    constexpr std::int64_t far = std::int64_t{1} << 40;
    all.at(0);
    if (step == 0) throw fault("'range' with step 0");
    if (std::max({std::abs(first / far), std::abs(last / far), std::abs(step / far)}) > 0)
        throw fault("'range' of huge numbers");
    std::vector<value> out;
    for (auto i = first; step > 0 ? i < last : i > last; i += step) {
        left_.make(sizeof(value));
        out.emplace_back(i);
    }
    return make_series(left_, series::kind::range, std::move(out));
}

/// The day of the template by strftime(3), in English. Of its time nothing is known.
value interpreter::date(const std::string& format) {
    static constexpr std::array<std::string_view, 12> months = {"January",   "February", "March",    "April",
                                                                "May",       "June",     "July",     "August",
                                                                "September", "October",  "November", "December"};
    static constexpr std::array<std::string_view, 7> days = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                             "Thursday", "Friday", "Saturday"};
    const auto year = static_cast<int>(today_->year());
    const auto month = static_cast<unsigned>(today_->month()), day = static_cast<unsigned>(today_->day());
    const auto weekday = std::chrono::weekday(std::chrono::sys_days(*today_)).c_encoding();
    growing out(left_);
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%') {
            out.add(std::string_view(format).substr(i, 1));
            continue;
        }
        const char which = ++i < format.size() ? format[i] : '\0';
        switch (which) {
            case 'Y':
                out.add(fmt::format("{:04}", year));
                break;
            case 'y':
                out.add(fmt::format("{:02}", year % 100));
                break;
            case 'm':
                out.add(fmt::format("{:02}", month));
                break;
            case 'd':
                out.add(fmt::format("{:02}", day));
                break;
            case 'e':
                out.add(fmt::format("{:2}", day));
                break;
            case 'B':
                out.add(months[month - 1]);
                break;
            case 'b':
                out.add(months[month - 1].substr(0, 3));
                break;
            case 'A':
                out.add(days[weekday]);
                break;
            case 'a':
                out.add(days[weekday].substr(0, 3));
                break;
            case 'F':
                out.add(fmt::format("{:04}-{:02}-{:02}", year, month, day));
                break;
            case '%':
                out.add("%");
                break;
            default:
                throw fault(fmt::format("'strftime_now' with {} is not supported; only a date is known",
                                        format.substr(i - 1, 2)));
        }
    }
    return make_text(left_, out.text());
}

}  // namespace rldp::data::jinja
