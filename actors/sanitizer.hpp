#pragma once
// The sanitizer owns clipping, noise and the release log: what it answers is the only thing that leaves the trusted
// side.
#include <memory>
#include <optional>

#include "actors/actors.hpp"
#include "privacy/mechanism/declassify_unsound.hpp"
#include "run/session.hpp"

namespace spdlog {
class logger;
}

namespace rldp::actors {

struct sanitizer_state {
    static constexpr const char* name = "sanitizer";
    std::optional<privacy::sanitizer> library;
    std::optional<privacy::release_log> log;
    std::optional<privacy::acknowledgement> unsound;  ///< as_published only

    void open(const trusted<std::shared_ptr<const secrets>>& closed, privacy::sanitizer_config config,
              std::shared_ptr<privacy::reducer> over, const std::filesystem::path& release_log);
    void add(const trusted<privacy::unit_gradients>& chunk);
    privacy::release finish();
};

/// `over`: where the sums of several ranks are added up; null in one process.
sanitizer_actor::behavior_type make_sanitizer(sanitizer_actor::stateful_pointer<sanitizer_state> self,
                                              trusted<std::shared_ptr<const secrets>> closed,
                                              privacy::sanitizer_config config, std::shared_ptr<privacy::reducer> over,
                                              std::optional<privacy::acknowledgement> unsound,
                                              std::filesystem::path release_log,
                                              std::shared_ptr<spdlog::logger> trusted_log);

}  // namespace rldp::actors
