#pragma once
// privacy.pad_batches: every step computes one public number of micro-batches of one shape, so that its duration tells
// nothing of its draw (docs/privacy.md §2).
#include <cstdint>
#include <optional>

#include "config/spec.hpp"
#include "models/unit_gradients.hpp"

namespace rldp::actors {

struct padding {
    std::int64_t units = 0;  ///< room of every step; more than that are drawn hardly ever, and such a step takes longer
    models::unit_shape shape;
    /// What larger draws add to δ over the run: T·p·(1 + e^ε), where a step's draw exceeds the room with probability p.
    /// On either of two neighbouring data sets of at most N units the durations differ from those of a run without
    /// larger draws with probability T·p at most.
    double delta = 0;
};

/// The least room for which larger draws take at most δ/100; nothing without pad_batches. `max_tokens` per record.
std::optional<padding> choose_padding(const config::run_spec& spec, std::int64_t max_tokens);

/// Of one rank: each unit drawn is its with probability 1/ranks, and that any rank's share exceeds its room is no
/// likelier than that the draw exceeds `all`'s.
padding padding_of_rank(const padding& all, const config::run_spec& spec, std::size_t ranks);

}  // namespace rldp::actors
