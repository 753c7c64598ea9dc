#pragma once
// torchrun's agent keeps MASTER_PORT for a store of its own (c10d's): there rank 0 says where it listens instead.
#include <cstdint>

#include "actors/run/ranks/place.hpp"

namespace rldp::ranks {

void tell_port(const place& where, std::uint16_t port);
/// Waits until rank 0 has told it. Errors, of both: failed where the agent does not answer within place.patience.
std::uint16_t hear_port(const place& where);

}  // namespace rldp::ranks
