#pragma once
// Where the tokens of training records go while they are read: in any order, from several threads.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rldp::data {

class token_sink {
  public:
    virtual ~token_sink() = default;
    /// Once, before all else. `first`: each unit's first record, from 0, and the end.
    virtual void begin(std::vector<std::uint32_t> first, int threads) = 0;
    /// The tokens of a record, once at most for each; by several threads, each a worker of its own.
    virtual void take(std::size_t worker, std::uint32_t record, const std::vector<std::int32_t>& tokens) = 0;
    /// Gives memory back that was held for more; no take() may be under way.
    virtual void settle() = 0;
};

}  // namespace rldp::data
