#pragma once
// The last line of a terminal, rewritten now and then, with a sign of life while nothing new comes.
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/loading.hpp"

namespace rldp::monitor {

/// What there is to say in so many columns.
using line_text = std::function<std::string(std::size_t width)>;

/// Draws five times a second, from a thread of its own: what changes faster is never seen, and what is over within the
/// first fifth of a second never appears.
class live_line {
  public:
    using clock = std::chrono::steady_clock;

    live_line();
    ~live_line();  ///< erases it
    live_line(const live_line&) = delete;
    live_line& operator=(const live_line&) = delete;

    /// From any thread.
    void show(line_text text);
    void erase();
    /// Draws it a last time and leaves it where it is; what is shown next has a line of its own.
    void keep();

  private:
    void draw_while_wanted(const std::stop_token& until);
    void wipe();  ///< what was drawn; under the lock

    std::mutex mutex_;
    std::condition_variable_any woken_;
    line_text text_;           ///< empty: nothing is shown
    clock::time_point since_;  ///< when the text came
    bool drawn_ = false;
    std::jthread drawer_;  ///< the last member: it uses the others
};

/// `text` with what tells of waiting behind it: nothing for a second, then a mark that turns with each `tick` and the
/// time, "⠙ 12 s".
std::string with_sign_of_life(const line_text& text, std::size_t width, std::chrono::milliseconds waited,
                              std::size_t tick);

/// "reading weights  34 % (0.9 of 2.5 GiB)", "reading records  30 %".
std::string loading_text(const loading& seen);

/// Shows what is read on standard error, where that is a terminal, until all of it is there; else an empty function.
on_loading loading_line();

}  // namespace rldp::monitor
