#include "tests/faults/memory_group.hpp"

#include <unistd.h>

#include <fstream>

namespace rldp::testing {

namespace {

bool write_to(const path& file, const std::string& text) {
    std::ofstream out(file);
    return static_cast<bool>(out << text << std::flush);
}

/// Where groups with a limit of their own are made, and the limit's file.
struct hierarchy {
    path root;
    const char* limit;
};
constexpr const char* version_1 = "/sys/fs/cgroup/memory";
constexpr const char* version_2 = "/sys/fs/cgroup";

}  // namespace

memory_group::memory_group(const std::string& name, std::uint64_t bytes) {
    for (const auto& [root, limit] : {hierarchy{version_1, "memory.limit_in_bytes"}, {version_2, "memory.max"}}) {
        std::error_code refused;
        const auto made = root / ("rldp-" + std::to_string(::getpid()) + "-" + name);
        if (!std::filesystem::create_directory(made, refused)) continue;
        at_ = made;
        if (std::filesystem::exists(made / limit, refused) && write_to(made / limit, std::to_string(bytes))) {
            write_to(made / "memory.swap.max", "0");  // version 2: else what is too much goes to disk
            return;
        }
        std::filesystem::remove(made, refused);
        at_.clear();
    }
}

memory_group::~memory_group() {
    std::error_code ignored;
    if (!at_.empty()) std::filesystem::remove(at_, ignored);
}

}  // namespace rldp::testing
