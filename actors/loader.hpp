#pragma once
// The loader owns the training units and the Poisson sampler.
#include <memory>
#include <optional>

#include "actors/actors.hpp"
#include "actors/session.hpp"

namespace spdlog {
class logger;
}

namespace rldp::actors {

struct loader_state {
    static constexpr const char* name = "loader";
    trusted<std::shared_ptr<const secrets>> closed;
    double sample_rate = 0;
    std::optional<draw> ready;  ///< made ahead of need

    draw make(std::uint64_t seq) const;
    trusted<draw> hand_out(std::uint64_t seq);
};

/// Units are drawn with probability `sample_rate` from the stream (run key, draw, seq).
loader_actor::behavior_type loader(loader_actor::stateful_pointer<loader_state> self,
                                   trusted<std::shared_ptr<const secrets>> closed, double sample_rate,
                                   std::shared_ptr<spdlog::logger> trusted_log);

}  // namespace rldp::actors
