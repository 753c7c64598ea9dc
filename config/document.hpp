#pragma once
// JSON as a user writes it: strict syntax, no key twice, errors with line and column.
#include <string>

#include "config/values.hpp"

namespace rldp::config {

/// The object that `text` holds. Errors (bad_input): syntax with line and column; a key that appears twice; a number
/// that no double holds; anything but an object; more than 256 KiB. `origin` begins every message.
json parse_object(const std::string& text, const std::string& origin);

/// "train.lr=0.1" as {"train": {"lr": 0.1}}. A value that is no JSON counts as a string unless it begins like JSON's
/// structures. Errors: no "=", nothing before or after it.
json parse_override(const std::string& text);

}  // namespace rldp::config
