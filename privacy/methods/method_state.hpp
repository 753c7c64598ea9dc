#pragma once
// The JSON half of a method's state: read and checked in one place.
#include <nlohmann/json.hpp>
#include <string>

#include "privacy/methods/method.hpp"

namespace rldp::privacy {

/// The numbers of a state that save() of the method `name` wrote. Errors: bad_input for another method's.
nlohmann::json read_numbers(const method_state& from, const std::string& name);

/// A positive number of that JSON. Errors: bad_input where it is missing or not finite and positive.
double positive_number(const nlohmann::json& numbers, const std::string& key);
/// Its whole number "steps". Errors: bad_input where it is missing or none, or negative.
std::int64_t steps_in(const nlohmann::json& numbers);

}  // namespace rldp::privacy
