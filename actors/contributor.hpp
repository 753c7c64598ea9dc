#pragma once
// In the sanitizer's place on ranks that are not the first: it clips and sums, gives the sum to rank 0, which adds
// noise and releases, and answers a release of nothing.
#include <memory>
#include <optional>

#include "actors/actors.hpp"
#include "privacy/mechanism/reducer.hpp"
#include "privacy/mechanism/sanitizer.hpp"

namespace spdlog {
class logger;
}

namespace rldp::actors {

struct contributor_state {
    static constexpr const char* name = "contributor";
    std::optional<privacy::step_order> order;
    std::optional<privacy::step_sum> sum;

    void add(const trusted<privacy::unit_gradients>& chunk);
};

sanitizer_actor::behavior_type make_contributor(sanitizer_actor::stateful_pointer<contributor_state> self,
                                                std::vector<privacy::segment> segments,
                                                std::shared_ptr<privacy::reducer> over,
                                                std::shared_ptr<spdlog::logger> trusted_log);

}  // namespace rldp::actors
