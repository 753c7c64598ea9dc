#pragma once
// Configurations that no file was read for.
#include <string>
#include <vector>

#include "config/config.hpp"
#include "tests/support/refusal.hpp"

inline rldp::config::run_config parsed(const std::string& json, const std::vector<std::string>& overrides = {}) {
    return rldp::config::parse(json, "test.json", "/base", overrides);
}

/// What is said against it; empty for a sound one.
inline std::string refused(const std::string& json, const std::vector<std::string>& overrides = {}) {
    return refusal([&] { parsed(json, overrides); });
}
