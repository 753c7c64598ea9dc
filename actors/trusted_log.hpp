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

}  // namespace rldp::actors
