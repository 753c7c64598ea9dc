#include "data/chat/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace rldp::data::jinja
