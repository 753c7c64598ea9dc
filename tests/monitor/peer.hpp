#pragma once
// The other side of a connection, byte by byte. Nothing here waits longer than a minute: a test that would hang fails.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "monitor/view/run_view.hpp"

namespace rldp::testing {

/// One end of a TCP connection.
class peer {
  public:
    /// Connects to 127.0.0.1. `receive_buffer`: bytes that the system holds for who does not read; 0: its default.
    explicit peer(std::uint16_t port, int receive_buffer = 0);
    struct accepted {
        int descriptor;
    };
    explicit peer(accepted by);
    ~peer();
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;

    /// As much as the other side takes before it closes.
    void send(std::string_view bytes);
    /// Up to and with `end`; what there was, where the stream ends before.
    std::string read_until(std::string_view end);
    /// Up to the stream's end, however it ends.
    std::string read_rest();
    /// Closes so that the other side sees a reset.
    void reset();

  private:
    bool read_some();
    int descriptor_;
    std::string read_;
};

/// "GET /api/stream" with a Host that is accepted.
std::string stream_request();
/// The run of the next event, past comments and the head; nothing at the stream's end.
std::optional<monitor::run_view> next_event(peer& from);

/// Serves connections one after another on a thread, as a run never would.
class fake_server {
  public:
    explicit fake_server(std::function<void(peer&)> serve);
    ~fake_server();
    std::uint16_t port() const { return port_; }

  private:
    int listener_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

}  // namespace rldp::testing
