#pragma once
// Short runs of the demo's model, of any method.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/noninterference/tables.hpp"

namespace rldp::testing {

/// A number from the environment.
std::int64_t setting(const char* name, std::int64_t otherwise);

/// Names of all spending policies that noise.policy may name.
std::vector<nlohmann::json> sound_policies();

/// Six steps, or twelve, on a declared population of `units`.
nlohmann::json short_run(std::size_t units, const std::string& method, const std::string& policy = {});

/// The same under a prepared policy that decides after every second step.
nlohmann::json prepared_run(std::size_t units, const std::filesystem::path& policy);

/// The same with random settings, of any method and policy.
nlohmann::json random_configuration(generator& random, std::size_t units);

layout random_layout(generator& random);

}  // namespace rldp::testing
