#pragma once
// Memory for secrets: never swapped out, in no core dump, between guard pages, zeroed when it is given back
// (docs/privacy.md §6).
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace rldp::privacy {

namespace detail {
void* locked_allocate(std::size_t bytes);                      ///< errors: failed where there is no memory
void locked_release(void* block, std::size_t bytes) noexcept;  ///< zeroes it and keeps it for reuse
}  // namespace detail

template <class T>
struct locked_deleter {
    void operator()(T* block) const { detail::locked_release(block, sizeof(T)); }
};
template <class T>
using locked_ptr = std::unique_ptr<T, locked_deleter<T>>;

/// A zeroed T.
template <class T>
locked_ptr<T> make_locked() {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    return locked_ptr<T>(new (detail::locked_allocate(sizeof(T))) T{});
}

/// libsodium, which random bytes, keys and seals need. Errors: failed where the system gives no random bytes.
void start_sodium();

/// For the whole process, at its start: no core dump, and no other process of the same user may look inside.
void forbid_core_dumps();

}  // namespace rldp::privacy
