#pragma once
// What ranks that are not the first do: every step that rank 0 tells is computed, clipped and given to it.
#include <memory>

#include "actors/actors.hpp"
#include "run/run_inputs.hpp"

namespace rldp::actors {

struct follower_state {
    static constexpr const char* name = "follower";
    std::shared_ptr<ranks::team> team;
    std::shared_ptr<privacy::ledger_copy> ledger;
    at::Device device = at::kCPU;
    gradient_actor gradient;
    caf::typed_response_promise<std::int64_t> promise;
    std::int64_t steps = 0;
};

/// `others`: whoever fails among them, and `gradient`, ends the run.
follower_actor::behavior_type make_follower(follower_actor::stateful_pointer<follower_state> self,
                                            std::shared_ptr<ranks::team> team,
                                            std::shared_ptr<privacy::ledger_copy> ledger, at::Device device,
                                            gradient_actor gradient, const std::vector<caf::actor>& others);

/// Follows rank 0 to the end of its run. Errors: as join_run; failed with the cause.
void follow(const std::function<joined_run()>& join, const std::shared_ptr<ranks::team>& team,
            const std::filesystem::path& trusted_log);

}  // namespace rldp::actors
