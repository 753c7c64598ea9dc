#pragma once
// What the model writes with its new adapter, for the report: made from the adapter and public text alone.
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "actors/run/inputs.hpp"

namespace rldp::actors {

/// A few beginnings of records: the template's opening, or nothing, continued at temperature 0.8. None where the model
/// is so large that this would take minutes on a processor.
std::vector<std::string> generate_samples(const config::reading_spec& spec, const run_model& model,
                                    const at::Tensor& adapter);

}  // namespace rldp::actors
