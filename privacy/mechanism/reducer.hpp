#pragma once
// Where a step's sums are added up over the ranks of a run (docs/cluster.md). A run in one process has none.
#include <cstdint>
#include <span>

namespace rldp::privacy {

class reducer {
  public:
    virtual ~reducer() = default;
    /// Adds up `numbers` of all ranks modulo 2⁶⁴, for charge `seq`: on rank 0 they are the sum afterwards, elsewhere
    /// nothing that may be used. Every rank calls it once per charge, with as many numbers. Errors: failed where a rank
    /// is gone or silent, or what arrived is not what was sent.
    virtual void reduce(std::uint64_t seq, std::span<std::int64_t> numbers) = 0;
};

}  // namespace rldp::privacy
