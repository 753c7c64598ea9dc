#pragma once
// Samples identities while a table is read.
#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "config/base/unit_sketch.hpp"

namespace rldp::data {

class identity_sample {
  public:
    /// Under a hash that no setting changes: the same rows are sampled whatever the split.
    void add(std::string_view identity);
    void add(const identity_sample& other);
    unit_sketch finish() const;

  private:
    void keep(std::uint64_t hash);

    unsigned level_ = 0;
    std::unordered_set<std::uint64_t> kept_;
};

}  // namespace rldp::data
