#pragma once
// What a run leaves behind once its actors have ended, and what its model writes.
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "privacy/keys/signing_key.hpp"
#include "run/artifacts/summary.hpp"
#include "run/inputs.hpp"
#include "run/outcome.hpp"
#include "run/session.hpp"

namespace rldp::actors {

// Samples. What the model writes with its new adapter, for the report: made from the adapter and public text alone.

/// A few beginnings of records: the template's opening, or nothing, continued at temperature 0.8. None where the model
/// is so large that this would take minutes on a processor.
std::vector<std::string> generate_samples(const config::reading_spec& spec, const run_model& model,
                                          const at::Tensor& adapter);

// Finish. What a run leaves behind once its actors have ended.

/// Writes public/adapter (public/model of whole tensors), summary.json, report.html and the certificate, signed where
/// `signed_by` is given, and returns the summary. A run that is over erases its key, release log and checkpoint; an
/// interrupted one keeps them.
eval::run_summary finish_run(const session& run, const outcome& ended, const privacy::signing_key* signed_by = nullptr);

}  // namespace rldp::actors
