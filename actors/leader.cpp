#include "actors/leader.hpp"

#include "actors/failure.hpp"
#include "run/ranks/step_words.hpp"

namespace rldp::actors {

gradient_actor::behavior_type make_leader(gradient_actor::stateful_pointer<leader_state> self,
                                          std::shared_ptr<ranks::team> team, gradient_actor gradient) {
    fail_publicly(self);
    return {
        [self, team, gradient](compute_atom, const step_task& task) {
            ranks::tell_step(*team, task.order, task.adapter);
            auto promise = self->make_response_promise<privacy::release>();
            promise.delegate(gradient, compute_atom::value, task);
            return promise;
        },
    };
}

}  // namespace rldp::actors
