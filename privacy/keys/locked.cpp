#include "privacy/keys/locked.hpp"

#include <sodium.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <map>
#include <mutex>
#include <vector>

#include "config/base/error.hpp"

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

}  // namespace rldp::privacy
