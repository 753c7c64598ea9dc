#pragma once
// Whether the address sanitizer watches: it takes more addresses for itself than there is memory.

namespace rldp {

#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

}  // namespace rldp
