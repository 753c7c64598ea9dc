#pragma once
// A run's live values for whoever connects: one-way, as server-sent events (`GET /api/stream`), on a thread of its own.
// Nothing that a peer does reaches the run: its request is read within limits, then it is only written to.
#include <cstdint>
#include <memory>

#include "monitor/stream/endpoint.hpp"
#include "monitor/stream/limits.hpp"
#include "monitor/stream/telemetry.hpp"

namespace rldp::monitor {

class stream_server {
  public:
    /// Port 0 is any free one. Errors: bad_input for a port in use and for an address that is not the loopback's.
    explicit stream_server(const endpoint& where, const stream_limits& limits = {});
    /// Every watcher that takes it gets the last value first.
    ~stream_server();
    stream_server(const stream_server&) = delete;
    stream_server& operator=(const stream_server&) = delete;

    /// To all watchers, now and to come; never waits for one. Who is slow misses values, the latest comes. From any
    /// thread.
    void show(const monitor::telemetry& latest);
    /// Where it listens.
    std::uint16_t port() const;

  private:
    class loop;
    std::unique_ptr<loop> loop_;
};

}  // namespace rldp::monitor
