#pragma once
// Kept unit gradients of whole tensors, as the clipper asks for them. Trusted side.
#include <memory>
#include <vector>

#include "models/whole/kept_gradients.hpp"
#include "privacy/mechanism/gradient_parts.hpp"

namespace rldp::actors {

std::shared_ptr<const privacy::gradient_parts> as_parts(models::factored_gradients gradients);

/// The units of several, one after the other, of the same tensors.
std::shared_ptr<const privacy::gradient_parts> joined(
    std::vector<std::shared_ptr<const privacy::gradient_parts>> several);

}  // namespace rldp::actors
