#pragma once
// The other end of a stream server: what watches a run from another process.
#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "monitor/stream/endpoint.hpp"
#include "monitor/stream/telemetry.hpp"

namespace rldp::monitor {

class stream_reader {
  public:
    /// `silence`: so long without a byte, and the stream is taken for dead. A run says something every five seconds.
    explicit stream_reader(endpoint where, std::chrono::milliseconds silence = std::chrono::seconds(15));

    /// Connects and reads until the stream ends, fails or falls silent; answers why, in a phrase ("the run ended").
    /// Calls `on_telemetry` on this thread; lets its exceptions pass. One call at a time.
    std::string follow(const std::function<void(const monitor::telemetry&)>& on_telemetry);
    /// Ends this follow() and all later ones. From any thread.
    void stop();

    /// What follow() answers where nobody listens, and after stop().
    static constexpr const char* nobody = "no run is there";
    static constexpr const char* stopped = "stopped";

  private:
    class session;

    const endpoint where_;
    const std::chrono::milliseconds silence_;
    std::mutex mutex_;
    bool stopped_ = false;
    std::function<void()> interrupt_;  ///< of the follow() under way
};

}  // namespace rldp::monitor
