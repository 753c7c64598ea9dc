#pragma once
// Files that are read where they lie on the disk.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace rldp {

/// A whole file in memory that the system fills as it is read. To be read only: the pages are private to this process,
/// and nobody writes to them.
struct mapped_file {
    std::shared_ptr<void> bytes;  ///< null where there are none
    std::size_t size;
};

/// Errors: those of input_file; failed or bad_input where the system can't map it.
mapped_file map_file(const std::filesystem::path& path);

/// Gives back the memory in which this process keeps what it read of a mapped file; what is read again comes from the
/// file. Pages that lie in the range with a part only are kept.
void forget_pages(const void* begin, std::size_t size);

}  // namespace rldp
