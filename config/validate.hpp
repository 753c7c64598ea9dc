#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "config/config.hpp"

namespace rldp::config {

/// The first thing that is wrong with a configuration, in one line that begins with the key path.
std::optional<std::string> problem(const run_config& config);

/// Of these: steps and epochs both given.
std::optional<std::string> length_problem(const run_config& config);
/// An expected batch larger than the population, declared or found.
std::optional<std::string> rate_problem(const run_config& config, std::int64_t population);

}  // namespace rldp::config
