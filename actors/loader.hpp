#pragma once
// The loader owns the training units and the Poisson sampler.
#include <memory>
#include <optional>

#include "actors/actors.hpp"
#include "run/session.hpp"

namespace spdlog {
class logger;
}

namespace rldp::actors {

struct loader_state {
    static constexpr const char* name = "loader";
    trusted<std::shared_ptr<const secrets>> closed;
    double sample_rate = 0;              ///< of a step's group: run_plan's step_rate()
    std::uint64_t ready_seq = 0;         ///< whose draw was made ahead of need; 0 for none
    std::optional<trusted<draw>> ready;  ///< that draw

    trusted<draw> make(std::uint64_t seq) const;
    void prefetch(std::uint64_t seq);
    trusted<draw> hand_out(std::uint64_t seq);
};

/// Units are drawn with probability `sample_rate` from the stream (run key, draw, seq); where noise has several bands
/// those of the seq's group alone.
loader_actor::behavior_type make_loader(loader_actor::stateful_pointer<loader_state> self,
                                        trusted<std::shared_ptr<const secrets>> closed, double sample_rate,
                                        std::shared_ptr<spdlog::logger> trusted_log);

}  // namespace rldp::actors
