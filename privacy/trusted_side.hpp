#pragma once
// Makes the keys of the one-way door. Which sources stand on the trusted side is said in one place,
// actors/CMakeLists.txt, which defines RLDP_TRUSTED_SIDE for them and for no other.
#ifndef RLDP_TRUSTED_SIDE
#error "privacy/trusted_side.hpp: this source does not stand on the trusted side (actors/CMakeLists.txt)"
#endif
#include "privacy/trusted.hpp"

namespace rldp::privacy {

struct trusted_side {
    static trusted_key key() { return {}; }
};

/// The inside of a trusted value.
template <class T>
const T& opened(const trusted<T>& value) {
    return value.open(trusted_side::key());
}
template <class T>
const T& opened(const trusted<T>&& gone_at_once) = delete;

}  // namespace rldp::privacy
