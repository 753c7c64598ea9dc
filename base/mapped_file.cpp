#include "base/mapped_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.hpp"

namespace rldp {

mapped_file map_file(const std::filesystem::path& path) {
    const input_file file(path);
    const auto size = static_cast<std::size_t>(file.size());
    if (size == 0) return {{}, 0};
    void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (bytes == MAP_FAILED) storage_fault(path, "can't be mapped", errno);
    return {{bytes, [size](void* p) { ::munmap(p, size); }}, size};
}

void forget_pages(const void* begin, std::size_t size) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto from = reinterpret_cast<std::uintptr_t>(begin);
    const auto first = (from + page - 1) / page * page, last = (from + size) / page * page;
    if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace rldp
