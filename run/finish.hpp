#pragma once
// What a run leaves behind once its actors have ended.
#include <ATen/core/Tensor.h>

#include "privacy/keys/signing_key.hpp"
#include "run/artifacts/summary.hpp"
#include "run/inputs.hpp"
#include "run/outcome.hpp"
#include "run/session.hpp"

namespace rldp::actors {

/// Writes public/adapter (public/model of whole tensors), summary.json, report.html and the certificate, signed where
/// `signed_by` is given, and returns the summary. A run that is over erases its key, release log and checkpoint; an
/// interrupted one keeps them.
eval::run_summary finish_run(const session& run, const outcome& ended, const privacy::signing_key* signed_by = nullptr);

}  // namespace rldp::actors
