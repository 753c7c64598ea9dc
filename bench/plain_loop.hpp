#pragma once
// The work of the pipeline called in a plain loop, on one thread, without actors: what the pipeline is measured
// against, and what it must equal bit for bit when randomness is reproducible.
#include <cstdint>
#include <limits>

#include "run/session.hpp"

namespace rldp::bench {

/// Makes the run's steps to its end, or to step `until`, evaluations left out. Returns the adapter.
at::Tensor run_plain(const actors::opened_run& opened, std::int64_t until = std::numeric_limits<std::int64_t>::max());

}  // namespace rldp::bench
