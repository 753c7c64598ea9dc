#pragma once
// Poisson sampling of units.
#include <cstdint>
#include <functional>
#include <vector>

namespace rldp::data {

/// Indices of the units drawn: each of n independently with probability `rate`, in ascending order.
/// `uniform64` yields independent uniform 64-bit words; exactly one is used per unit, so unit i's draw never moves
/// another's.
std::vector<std::int64_t> poisson_draw(std::int64_t n, double rate, const std::function<std::uint64_t()>& uniform64);

}  // namespace rldp::data
