#pragma once
#include <optional>
#include <string>

#include "config/config.hpp"

namespace rldp::config {

/// The first thing that is wrong with a configuration, in one line that begins with the key path.
std::optional<std::string> problem(const run_config& config);

}  // namespace rldp::config
