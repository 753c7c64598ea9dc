#pragma once
// A step's order as bytes, for the ranks of a run that did not make it (docs/cluster.md): CBOR, every number as it was.
#include <string>
#include <string_view>

#include "privacy/mechanism/step_order.hpp"

namespace rldp::privacy {

/// Terms and probes, and the adapter that they go with, float32 [D] on any device. The charge is told apart.
struct serialized_step {
    step_terms terms;
    std::vector<at::Tensor> probes;
    at::Tensor adapter;
};

std::string serialize_step(const serialized_step& step);
/// Tensors on the CPU. Errors: bad_input for what tell() did not write.
serialized_step parse_step(std::string_view bytes);

}  // namespace rldp::privacy
