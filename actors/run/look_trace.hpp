#pragma once
// trusted/look_trace.json: what an audit sees of a run's looks at held-out units, and the made-up units that it planted
// among them (audit.look_canaries). A look tells a few sums, so canaries can't have directions of their own, as those
// of gradients have: canary j adds 2^(−⌊j/entries⌋) to the (j mod entries)-th number. Of exact sums every coin can be
// read off, largest first; noise of the size of one unit hides them.
#include <cstdint>
#include <filesystem>
#include <vector>

#include "privacy/mechanism/look.hpp"

namespace rldp::actors {

struct traced_look {
    std::int64_t look = 0;
    std::vector<double> released, others;  ///< the noised sum; the exact one of all units but the canaries
};

/// What look canary `number` adds, of norm 1 at most.
std::vector<double> look_canary(std::size_t number, std::size_t entries);

/// Appends, and makes the file where there is none. Errors: bad_input for one that is damaged.
void add_to_trace(const std::filesystem::path& path, const traced_look& made);
std::vector<traced_look> read_look_trace(const std::filesystem::path& path);

/// Of each canary, larger where it seems to have been in; the surer, the farther from 0.
std::vector<double> look_scores(const std::vector<traced_look>& trace, std::size_t canaries);

}  // namespace rldp::actors
