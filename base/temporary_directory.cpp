#include "base/temporary_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/files.hpp"

namespace rldp {

temporary_directory::temporary_directory() {
    std::error_code reason;
    const auto parent = std::filesystem::temp_directory_path(reason);
    if (reason) storage_fault("TMPDIR", "names no directory for what passes", reason.value());
    auto name = (parent / "rldp-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        storage_fault(name, "can't be made; TMPDIR may name another directory", errno);
    path_ = name;
}

temporary_directory::~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace rldp
