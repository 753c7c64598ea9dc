// Must not build: a key can't be made from empty braces either.
#include "privacy/trusted.hpp"

int use(const rldp::privacy::trusted<int>& value) {
    return value.open({});
}
