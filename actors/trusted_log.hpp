#pragma once
// The log on the trusted side: run/trusted/trusted.log, for its owner's eyes.
#include <spdlog/logger.h>

#include <filesystem>
#include <memory>

namespace rldp::actors {

/// Appends to the file at `path`. A line that can't be written is lost without a word: a run isn't given up for its
/// log, and what stands on standard error is told by the line that ends the program. Errors: spdlog::spdlog_ex where
/// the file can't be opened.
std::shared_ptr<spdlog::logger> open_trusted_log(const std::filesystem::path& path);

/// The same where its directory is there: rank 0's, on a file system that this rank shares. Elsewhere a log by the name
/// of `nowhere`, which keeps nothing.
std::shared_ptr<spdlog::logger> trusted_log_of_rank(const std::filesystem::path& path);
inline constexpr const char* nowhere = "nowhere";

}  // namespace rldp::actors
