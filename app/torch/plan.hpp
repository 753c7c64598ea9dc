#pragma once
// How long a plan takes on this machine, for those who are about to start it.
#include <functional>
#include <optional>
#include <string>

#include "run/first/proposals.hpp"

namespace rldp::app {

/// "--set train.expected_batch_size=64 --set train.steps=94 …".
std::string format_settings(const actors::proposal& one);

/// Rows for check and init: the time, and what an hour would do. `row` prints a name and a value.
void print_time(const std::optional<actors::plan_time>& found,
                const std::function<void(const std::string& name, const std::string& value)>& row);

}  // namespace rldp::app
