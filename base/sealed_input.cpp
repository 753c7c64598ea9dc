#include "base/sealed_input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/system.hpp"

namespace rldp {

namespace {

constexpr int all_seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void refuse_input(std::string_view name, const std::string& what) {
    refuse(fmt::format("{}: {}", name, what));
}

/// Memory with all that `from` gives until its end.
descriptor copy_to_memory(int from, std::string_view name, std::uint64_t most) {
    descriptor memory(::memfd_create("rldp input", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (memory.get() < 0) refuse_input(name, fmt::format("no memory for it ({})", std::strerror(errno)));
    std::vector<char> part(1 << 20);
    for (std::uint64_t have = 0;;) {
        const auto got = ::read(from, part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) refuse_input(name, fmt::format("can't be read ({})", std::strerror(errno)));
        if (got == 0) return memory;
        have += static_cast<std::uint64_t>(got);
        if (have > most)
            refuse_input(name,
                         fmt::format("more than {} came, the half of what there is of memory; write the rows to a "
                                     "file (.jsonl.zst), which is read piece by piece",
                                     memory_text(static_cast<std::int64_t>(most))));
        if (!write_all(memory.get(), {part.data(), static_cast<std::size_t>(got)}))
            refuse_input(name, fmt::format("no memory for what comes ({})", std::strerror(errno)));
    }
}

}  // namespace

bool is_sealed(int descriptor) {
    const int seals = ::fcntl(descriptor, F_GET_SEALS);
    return seals >= 0 && (seals & all_seals) == all_seals;
}

std::string_view seal_input(int descriptor, std::string_view name, std::uint64_t most) {
    if (::isatty(descriptor) != 0)
        refuse_input(name, "is a terminal; pipe rows into it: python3 -m rldp rows FILE | rldp run CONFIG");
    if (!is_sealed(descriptor)) {
        const auto memory = copy_to_memory(descriptor, name, most);
        if (::fcntl(memory.get(), F_ADD_SEALS, all_seals) != 0 || ::dup2(memory.get(), descriptor) < 0)
            refuse_input(name, fmt::format("its memory can't be sealed ({})", std::strerror(errno)));
    }
    struct stat found {};
    if (::fstat(descriptor, &found) != 0) refuse_input(name, fmt::format("can't be read ({})", std::strerror(errno)));
    const auto size = static_cast<std::size_t>(found.st_size);
    if (size == 0) return {};
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (at == MAP_FAILED) refuse_input(name, fmt::format("can't be mapped ({})", std::strerror(errno)));
    ::madvise(at, size, MADV_DONTDUMP);
    return {static_cast<const char*>(at), size};
}

}  // namespace rldp
