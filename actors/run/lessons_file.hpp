#pragma once
// What public records taught, kept in a file.
#include <filesystem>

#include "actors/run/inputs.hpp"
#include "privacy/keys/seal.hpp"

namespace rldp::actors {

/// What a model was taught, for a resume or for other runs: training again gives it up to rounding alone.
void write_lessons(const std::filesystem::path& path, const run_model& taught, const privacy::file_seal& seal);
/// The model as write_lessons() had it, from one that was not taught yet. Errors: as read_sealed.
run_model read_lessons(run_model model, const std::filesystem::path& path, const privacy::file_seal& seal);

}  // namespace rldp::actors
