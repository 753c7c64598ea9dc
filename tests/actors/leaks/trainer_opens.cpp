// Must not build: the trainer stands on the public side and has no key.
#include "privacy/trusted_side.hpp"

int use(const rldp::privacy::trusted<int>& value) {
    return rldp::privacy::opened(value);
}
