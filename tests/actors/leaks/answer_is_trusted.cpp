// Must not build: an actor that the public side asks must not answer with a trusted value.
#include "messages/sides.hpp"

using leaky = caf::typed_actor<caf::replies_to<int>::with<rldp::privacy::trusted<int>>>;
static_assert(rldp::messages::answers_publicly<leaky>,
              "what a public actor can ask must not answer with a trusted value");
