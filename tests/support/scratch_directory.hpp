#pragma once
// A directory of its own for a test, gone at its end.
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/files.hpp"

class scratch_directory {
  public:
    scratch_directory() {
        auto name = (std::filesystem::temp_directory_path() / "rldp-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error(name + ": can't be created");
        path_ = name;
    }
    ~scratch_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }
    /// Writes a file and returns its path.
    std::string write(const std::string& name, const std::string& bytes) const {
        rldp::write_file(path_ / name, bytes);
        return path_ / name;
    }

  private:
    std::filesystem::path path_;
};
