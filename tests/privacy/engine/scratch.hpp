#pragma once
// A directory of its own for a test, gone at its end.
#include <unistd.h>

#include <filesystem>
#include <string>

#include "config/error.hpp"

struct scratch_directory {
    std::filesystem::path path;
    scratch_directory() {
        auto name = (std::filesystem::temp_directory_path() / "rldp-test-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~scratch_directory() { std::filesystem::remove_all(path); }
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;
    std::filesystem::path operator/(const char* name) const { return path / name; }
};

/// The text of the rldp::error that `act` throws, empty if it throws none.
template <class Act>
std::string error_of(Act act) {
    try {
        act();
    } catch (const rldp::error& e) {
        return e.what();
    }
    return {};
}

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}
