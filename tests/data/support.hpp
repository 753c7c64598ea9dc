#pragma once
// What the data room's tests share.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "config/error.hpp"

/// The line that `act` is refused with; the empty string where it passes.
template <class Act>
std::string refusal_of(Act&& act) {
    try {
        act();
    } catch (const rldp::error& failure) {
        const std::string line = failure.what();
        if (failure.code() != rldp::errc::bad_input) return "not a bad_input: " + line;
        return line.find('\n') == std::string::npos ? line : "several lines: " + line;
    }
    return {};
}

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// A folder that goes away with the test.
class scratch {
  public:
    scratch() : folder_(std::filesystem::temp_directory_path() / ("rldp-data-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(folder_);
    }
    ~scratch() { std::filesystem::remove_all(folder_); }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;

    /// Writes a file and returns its path.
    std::string file(const std::string& name, const std::string& bytes) const {
        const auto path = folder_ / name;
        std::ofstream(path, std::ios::binary) << bytes;
        return path.string();
    }

  private:
    std::filesystem::path folder_;
};
