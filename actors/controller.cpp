#include "actors/controller.hpp"

#include "actors/failure.hpp"
#include "actors/threads.hpp"

namespace rldp::actors {

controller_actor::behavior_type make_controller(controller_actor::stateful_pointer<controller_state> self,
                                                std::shared_ptr<rl::controller> library) {
    fail_publicly(self);
    use_threads(1);  // small nets, and the gradient needs the cores
    self->state.library = std::move(library);
    return {
        [self](decide_atom, const rl::block_observation& seen) {
            auto out = self->state.library->decide(seen);
            self->send(self, learn_atom::value);
            return out;
        },
        [self](learn_atom) { self->state.library->learn(); },
        [self](save_atom) { return self->state.library->save(); },
    };
}

}  // namespace rldp::actors
