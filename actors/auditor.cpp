#include "actors/auditor.hpp"

#include "actors/audit.hpp"
#include "actors/failure.hpp"

namespace rldp::actors {

std::string auditor_state::audit(const std::vector<std::filesystem::path>& shadows) const {
    auto& run = *closed.open(privacy::trusted_key{});
    read_adapter(run);
    return write_audit(run.where, actors::audit(run, shadows)).string();
}

auditor_actor::behavior_type auditor(auditor_actor::stateful_pointer<auditor_state> self,
                                     trusted<std::shared_ptr<audited_run>> closed,
                                     std::vector<std::filesystem::path> shadows,
                                     std::shared_ptr<spdlog::logger> trusted_log) {
    fail_silently(self, std::move(trusted_log));
    self->state.closed = std::move(closed);
    return {[self, shadows](audit_atom) { return self->state.audit(shadows); }};
}

}  // namespace rldp::actors
