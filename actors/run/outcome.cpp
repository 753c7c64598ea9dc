#include "actors/run/outcome.hpp"

namespace rldp::actors {

void evaluations::add(std::int64_t step, const eval::scores& found) {
    if (step == 0) before = found;
    last = found;
    if (!best || found.perplexity < best->perplexity) best = found;
}

}  // namespace rldp::actors
