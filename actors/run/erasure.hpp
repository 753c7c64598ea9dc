#pragma once
// A run's secrets, and their end (docs/privacy.md §6): the key first, for without it the rest tells nothing more. A
// kill in between leaves the rest behind; whoever opens the directory next finishes the erasure.
#include <filesystem>
#include <vector>

#include "eval/report/run_directory.hpp"

namespace rldp::actors {

/// Whether the run has ended: its key is erased.
bool is_over(const eval::run_directory& where);

/// Erases key, release log, checkpoint, records as tokens and unfinished writes, durably.
void erase_secrets(const eval::run_directory& where);

/// Of a run that is over: erases what a kill left; what was erased. Nothing of a run that can be resumed.
std::vector<std::filesystem::path> finish_erasure(const eval::run_directory& where);

/// In and below `root`, and of killed starts beside it; what was erased.
std::vector<std::filesystem::path> clean(const std::filesystem::path& root);

}  // namespace rldp::actors
