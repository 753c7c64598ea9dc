// Must not build: a public actor whose interface takes a trusted value.
#include <vector>

#include "messages/sides.hpp"

using leaky = caf::typed_actor<caf::reacts_to<int>, caf::reacts_to<std::vector<rldp::privacy::trusted<int>>>>;
static_assert(rldp::messages::is_public<leaky>, "a trusted value must not reach the public side");
