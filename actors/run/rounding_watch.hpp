#pragma once
// Where rounding can't be ruled out by how units are computed (a CUDA device), it is looked at during the run: training
// moves the adapter, and with it what company does to a unit's last bits.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace rldp::actors {

class company_probe;
struct session;

/// Called before the grant of `step` with the adapter that it will be computed at. Errors: failed where made-up units
/// move each other by more than a fifth of what is charged, or by anything where nothing is.
using rounding_watch = std::function<void(std::int64_t step, const at::Tensor& adapter)>;

/// Empty where there is nothing to watch.
rounding_watch make_rounding_watch(const session& run);

/// The same of a probe, for a margin η.
rounding_watch watch_with(const std::shared_ptr<company_probe>& probe, std::int64_t every, double margin,
                          std::size_t batch);

}  // namespace rldp::actors
