// Builds: a trusted actor opens what it got, and a public interface without trusted values passes.
#include "messages/sides.hpp"

namespace rldp::actors {
struct loader_state {
    static int look(const privacy::trusted<int>& value) { return value.open(privacy::trusted_key{}); }
};
}  // namespace rldp::actors

using innocent = caf::typed_actor<caf::replies_to<int>::with<double>>;
static_assert(rldp::messages::is_public<innocent> && rldp::messages::answers_publicly<innocent>);
int use(const rldp::privacy::trusted<int>& value) { return rldp::actors::loader_state::look(value); }
