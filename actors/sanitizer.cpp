#include "actors/sanitizer.hpp"

#include "actors/failure.hpp"
#include "actors/threads.hpp"
#include "privacy/trusted_side.hpp"
#include "run/test_hooks.hpp"

namespace rldp::actors {

void sanitizer_state::open(const trusted<std::shared_ptr<const secrets>>& closed, privacy::sanitizer_config config,
                           std::shared_ptr<privacy::reducer> over, const std::filesystem::path& release_log) {
    const auto& key = privacy::opened(closed)->key;
    library.emplace(std::move(config), key, std::move(over));
    log.emplace(release_log, privacy::file_seal(key));
}

void sanitizer_state::add(const trusted<privacy::unit_gradients>& chunk) {
    const auto& gradients = privacy::opened(chunk);
    if (gradients.parts) use_threads(all_threads());  // multiplied out here, while the gradient actor waits
    library->add(gradients);
}

privacy::release sanitizer_state::finish() {
    auto out = library->finish();
    if (unsound) privacy::declassify_unsound(*unsound, library->raw(), out);
    test_hooks::exchange(out);
    log->append(out);  // durable before it is handed over (docs/privacy.md §5)
    test_hooks::logged(out.charged->seq);
    return out;
}

sanitizer_actor::behavior_type make_sanitizer(sanitizer_actor::stateful_pointer<sanitizer_state> self,
                                              trusted<std::shared_ptr<const secrets>> closed,
                                              privacy::sanitizer_config config, std::shared_ptr<privacy::reducer> over,
                                              std::optional<privacy::acknowledgement> unsound,
                                              std::filesystem::path release_log,
                                              std::shared_ptr<spdlog::logger> trusted_log) {
    fail_silently(self, std::move(trusted_log));
    self->state.unsound = unsound;
    self->state.open(closed, std::move(config), std::move(over), release_log);
    return {
        [self](begin_atom, const privacy::step_order& order) {
            use_threads(1);  // gradients are under way on all of them
            self->state.library->begin(order);
        },
        [self](clip_atom, const trusted<privacy::unit_gradients>& chunk) { self->state.add(chunk); },
        [self](finish_atom) { return self->state.finish(); },
        [self](forget_atom) { self->state.log->clear(); },
    };
}

}  // namespace rldp::actors
