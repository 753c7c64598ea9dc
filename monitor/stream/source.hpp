#pragma once
// Whatever tells telemetry of runs that another process makes.
#include <functional>
#include <string>

#include "monitor/stream/telemetry.hpp"

namespace rldp::monitor {

class source {
  public:
    virtual ~source() = default;

    /// Connects and reads until the stream ends, fails or falls silent; answers why, in a phrase ("the run ended").
    /// Calls `on_telemetry` on this thread; lets its exceptions pass. One call at a time.
    virtual std::string follow(const std::function<void(const telemetry&)>& on_telemetry) = 0;
    /// Ends this follow() and all later ones. From any thread.
    virtual void stop() = 0;

    /// What follow() answers where nobody listens, and after stop().
    static constexpr const char* nobody = "no run is there";
    static constexpr const char* stopped = "stopped";
};

}  // namespace rldp::monitor
