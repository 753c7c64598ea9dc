#pragma once
// Layers of a base that are not all held here (model.shard).
#include <cstdint>
#include <memory>
#include <string>

#include "models/kernels/weight_matrix.hpp"

namespace rldp::models {

/// Which layer a pass comes to after this one.
enum class heading {
    up,      ///< the next above; none after the last
    around,  ///< the next above; the first after the last
    down     ///< the next below; none below the first
};

/// Where the matrices of layers come from, and which are here. Safe to use from several threads.
class layer_source {
  public:
    virtual ~layer_source() = default;
    /// While the answer lives, a pass is under way: as long, two layers are kept for it.
    virtual std::shared_ptr<void> begin_pass() = 0;
    /// A pass is at `layer`: the next one that is not held here is brought while it computes.
    virtual void come_to(std::int64_t layer, heading to) = 0;
    /// A matrix of a layer that is not held here, by its name among the base's tensors; waits until it is. Errors:
    /// whatever keeps it from coming, from then on for every call.
    virtual weight_matrix find(std::int64_t layer, const std::string& name) = 0;
};

}  // namespace rldp::models
