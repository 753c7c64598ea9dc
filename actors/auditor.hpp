#pragma once
// The auditor reads both sides of a run and writes reports only.
#include <filesystem>
#include <memory>
#include <vector>

#include "actors/actors.hpp"
#include "run/audit/audit.hpp"

namespace spdlog {
class logger;
}

namespace rldp::actors {

struct auditor_state {
    static constexpr const char* name = "auditor";
    trusted<std::shared_ptr<audited_run>> closed;

    std::string audit(const std::vector<std::filesystem::path>& shadows) const;
};

auditor_actor::behavior_type make_auditor(auditor_actor::stateful_pointer<auditor_state> self,
                                          trusted<std::shared_ptr<audited_run>> closed,
                                          std::vector<std::filesystem::path> shadows,
                                          std::shared_ptr<spdlog::logger> trusted_log);

}  // namespace rldp::actors
