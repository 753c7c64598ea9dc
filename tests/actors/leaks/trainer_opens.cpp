// Must not build: the trainer stands on the public side and has no key.
#include "privacy/trusted.hpp"

namespace rldp::actors {
struct trainer_state {
    static int look(const privacy::trusted<int>& value) { return value.open(privacy::trusted_key{}); }
};
}  // namespace rldp::actors
int use(const rldp::privacy::trusted<int>& value) { return rldp::actors::trainer_state::look(value); }
