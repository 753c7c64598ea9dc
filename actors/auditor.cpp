#include "actors/auditor.hpp"

#include "actors/failure.hpp"
#include "actors/threads.hpp"
#include "models/device.hpp"
#include "privacy/trusted_side.hpp"
#include "run/audit/audit.hpp"

namespace rldp::actors {

std::string auditor_state::audit(const std::vector<std::filesystem::path>& shadows) const {
    auto& run = *privacy::opened(closed);
    // A narrow model gains nothing from more, and beside a run that goes on it would wait for them most of the time.
    use_threads(models::is_narrow(run.model.base->config()) ? 1 : all_threads());
    read_adapter(run);
    return write_audit(run.where, actors::audit(run, shadows)).string();
}

auditor_actor::behavior_type make_auditor(auditor_actor::stateful_pointer<auditor_state> self,
                                          trusted<std::shared_ptr<audited_run>> closed,
                                          std::vector<std::filesystem::path> shadows,
                                          std::shared_ptr<spdlog::logger> trusted_log) {
    fail_silently(self, std::move(trusted_log));
    self->state.closed = std::move(closed);
    return {[self, shadows](audit_atom) { return self->state.audit(shadows); }};
}

}  // namespace rldp::actors
