#pragma once
#include <unistd.h>

#include <filesystem>
#include <string>

/// A directory of its own that goes away with the test.
struct scratch {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("rldp_test_files_" + std::to_string(::getpid()));
    scratch() { std::filesystem::create_directory(path); }
    ~scratch() { std::filesystem::remove_all(path); }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
};
