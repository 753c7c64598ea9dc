#include <fmt/format.h>
#include <sodium.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <map>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "privacy/keys/secrets.hpp"

namespace rldp::privacy {

namespace {

/// Blocks that were given back, by size: locking one and guarding its pages takes system calls, and a step makes
/// hundreds of streams.
struct spare_blocks {
    std::mutex lock;
    std::map<std::size_t, std::vector<void*>> by_size;

    static spare_blocks& all() {
        static auto* const made = new spare_blocks;  // secrets in static objects may outlive this one otherwise
        return *made;
    }
};

}  // namespace

namespace detail {

void* locked_allocate(std::size_t bytes) {
    auto& spare = spare_blocks::all();
    {
        const std::lock_guard guard(spare.lock);
        if (auto& blocks = spare.by_size[bytes]; !blocks.empty()) {
            auto* const block = blocks.back();
            blocks.pop_back();
            return block;
        }
    }
    start_sodium();
    auto* const block = sodium_malloc(bytes);  // locked as far as the system's limit for locked memory goes
    if (block == nullptr) throw error(errc::failed, "no memory is left for key material");
    return block;
}

void locked_release(void* block, std::size_t bytes) noexcept {
    sodium_memzero(block, bytes);
    auto& spare = spare_blocks::all();
    const std::lock_guard guard(spare.lock);
    spare.by_size[bytes].push_back(block);
}

}  // namespace detail

void start_sodium() {
    // Negative only where the operating system gives no randomness.
    static const int state = sodium_init();
    if (state < 0) throw error(errc::failed, "libsodium can't start: the system gives no random bytes");
}

void forbid_core_dumps() {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);  // a core that is piped to a handler heeds no limit
}

void require_directory_of(const std::filesystem::path& path) {
    if (const auto parent = std::filesystem::absolute(path).parent_path(); !std::filesystem::is_directory(parent))
        refuse(parent.string() + ": no such directory; make it, with mode 0700, and try again");
}

}  // namespace rldp::privacy

namespace rldp::privacy::detail {

namespace fs = std::filesystem;

bool from_hex(std::string_view hex, std::span<unsigned char> out) {
    std::size_t length = 0;
    const char* end = nullptr;
    return hex.size() == 2 * out.size() && hex.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
           sodium_hex2bin(out.data(), out.size(), hex.data(), hex.size(), nullptr, &length, &end) == 0 &&
           length == out.size();
}

void refuse_inside_run(const fs::path& path, std::string_view what) {
    std::error_code ignored;
    const auto where = fs::weakly_canonical(fs::absolute(path), ignored);
    for (auto above = where.parent_path();; above = above.parent_path()) {
        if (fs::exists(above / "public/ledger.jsonl", ignored) || fs::exists(above / "ledger.jsonl", ignored))
            refuse(fmt::format("{}: lies in the run directory {}, which is handed on as a whole; keep {}s elsewhere",
                               path.string(), above.string(), what));
        if (above == above.parent_path()) return;
    }
}

std::size_t read_private(const fs::path& path, std::string_view what, char* into, std::size_t room) {
    input_file file(path);
    if ((file.permissions() & (S_IRWXG | S_IRWXO)) != 0)
        refuse(
            fmt::format("{0}: others can read this {2} (mode {1:04o}), so it may be theirs, too; make a new one, or "
                        "chmod 600 {0} if you are sure that nobody did",
                        path.string(), file.permissions(), what));
    return file.read(into, room);
}

}  // namespace rldp::privacy::detail
