// Builds: a source of the trusted side opens what it got, and a public interface without trusted values passes.
#define RLDP_TRUSTED_SIDE
#include "messages/sides.hpp"
#include "privacy/trusted_side.hpp"

using innocent = caf::typed_actor<caf::replies_to<int>::with<double>>;
static_assert(rldp::messages::is_public<innocent> && rldp::messages::answers_publicly<innocent>);
int use(const rldp::privacy::trusted<int>& value) {
    return rldp::privacy::opened(value);
}
