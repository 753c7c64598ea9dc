#pragma once
// A file's bytes, unpacked on the way where its name says gzip (.gz) or Zstandard (.zst).
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "config/base/input_file.hpp"

namespace rldp::data {

enum class packing { none, gzip, zstd };

struct file_name {
    std::string extension;  ///< of what is inside, in lower case, with its point
    packing packed = packing::none;
};
/// "notes.JSONL.gz" is a packed ".jsonl".
file_name name_of_file(const std::filesystem::path& path);

class unpacker;

class unpacked_file {
  public:
    /// Errors: bad_input for what input_file refuses, and for a file that begins as another kind does, such as Parquet,
    /// Excel or SQLite; it is named.
    explicit unpacked_file(const std::filesystem::path& path);
    ~unpacked_file();

    /// Up to `room` bytes; fewer only at the end. Errors: bad_input where the packed bytes are damaged or end early.
    std::size_t read(char* into, std::size_t room);
    /// Begins again with the same file, even if another one has its name by now.
    void rewind();

  private:
    input_file file_;
    std::unique_ptr<unpacker> unpack_;  ///< null where nothing is packed
};

}  // namespace rldp::data
