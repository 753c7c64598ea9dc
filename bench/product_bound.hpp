#pragma once
// The multiplications that a LoRA step can't avoid, at the rate this machine reaches for their shapes.
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/causal_lm.hpp"

namespace rldp::bench {

struct product_bound {
    double milliseconds;              ///< sum over all products, each shape timed alone (median of several)
    double milliseconds_from_memory;  ///< the same where no call finds its operands in a cache, as in a step
    double gigaflop;                  ///< multiply and add counted as two
};

/// Forward and input-gradient products of the base's linear modules and head, and attention's six batched ones, of
/// those the part that causality leaves. Input gradients end at the first adapters, which are those of q and v in the
/// first block. The adapters' own products are left out.
product_bound measure_product_bound(const models::model_config& model, std::int64_t batch, std::int64_t length,
                                    const at::TensorOptions& options);

}  // namespace rldp::bench
