#pragma once
// What `rldp monitor` does: one run after another, or several, from where they are told to a display.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "actors/actors.hpp"
#include "monitor/http/reader.hpp"

namespace rldp::actors {

/// While one lives, a thread of its own follows what a reader reads, waits where there is none, and hands each value on
/// once the display has shown the one before.
class stream_feed {
  public:
    /// `say` gets a sentence when the connection changes. Before, where that was the end of a stream that told of a
    /// run, `on_end` is called; one that is silent may go on. `pause` is the time between two attempts.
    stream_feed(caf::actor_system& system, display_actor display, std::unique_ptr<monitor::run_reader> from,
                std::function<void(const std::string&)> say, std::function<void()> on_end,
                std::chrono::milliseconds pause = std::chrono::milliseconds(200));
    ~stream_feed() = default;
    stream_feed(const stream_feed&) = delete;
    stream_feed& operator=(const stream_feed&) = delete;

  private:
    void run(const std::stop_token& over);
    /// Until the run ends or can't be followed.
    void follow_one();

    caf::actor_system& system_;
    const display_actor display_;
    const std::function<void(const std::string&)> say_;
    const std::function<void()> on_end_;
    const std::chrono::milliseconds pause_;
    const std::unique_ptr<monitor::run_reader> reader_;
    bool fell_silent_ = false;  ///< the last one that was attached to
    std::string said_;          ///< why the last one that could not be attached to could not
    std::jthread thread_;
};

}  // namespace rldp::actors
