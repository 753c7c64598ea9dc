#pragma once
// A run's configuration on disk: what anyone may see, and where the owner's files are.
#include <filesystem>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "eval/report/run_directory.hpp"

namespace rldp::eval {

/// public/config.json, with file names in place of paths, and trusted/places, which has those: a path tells whose
/// machine it was, and what else is on it. Errors: as write_file.
void write_configuration(const run_directory& run, const config::run_config& config);

/// Both put together, then `overrides`, as config::load's. Of a public side alone, and of a run of a version that wrote
/// no places, public/config.json as it stands. Errors: as config::load.
config::run_config read_configuration(const run_directory& run, const std::vector<std::string>& overrides = {});

/// The overrides that read_configuration() puts before those given.
std::vector<std::string> read_places(const run_directory& run);

/// config::load, and of a run's own public/config.json with the paths that its trusted side knows: a run is repeated by
/// that file.
config::run_config load_configuration(const std::filesystem::path& file, const std::vector<std::string>& overrides);

}  // namespace rldp::eval
