#pragma once
// The whole program inside this one: each call runs rldp's own main in a forked process, which saves loading LibTorch
// anew, and sees all that a user would see of it.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rldp::testing {

struct call {
    std::vector<std::string> arguments;
    std::filesystem::path directory;                      ///< where it runs; its output is kept there, too
    std::map<std::string, std::string> environment = {};  ///< in addition to this process's
    int signal = 0;                                       ///< that it gets `after` so long; 0 for none
    std::chrono::microseconds after = {};
    std::optional<std::uint64_t> file_limit = {};  ///< bytes: a longer file can't be written
    bool terminal = false;  ///< both streams are a terminal of 80 columns; its text is answer.err
};

struct answer {
    int status = 0;  ///< of the exit, or 128 + the signal that ended it
    std::string out, err;
};

/// Runs it to its end. A run of more than two minutes is ended by SIGALRM.
answer rldp_says(const call& what);

/// Every file below `root` by its relative path.
std::map<std::string, std::string> files_below(const std::filesystem::path& root);

}  // namespace rldp::testing
