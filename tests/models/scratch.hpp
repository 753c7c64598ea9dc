#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

namespace rldp::models::test {

/// A directory that goes away.
struct scratch_directory {
    std::filesystem::path path;
    scratch_directory() {
        std::string name = (std::filesystem::temp_directory_path() / "rldp-models-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~scratch_directory() { std::filesystem::remove_all(path); }
};

}  // namespace rldp::models::test
