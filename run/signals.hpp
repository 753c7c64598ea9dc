#pragma once
// SIGINT and SIGTERM as a call on a thread of its own. Blocking them and waiting would not do: BLAS starts threads
// before main() that don't block them, and the signal would end the process there.
#include <functional>
#include <mutex>
#include <thread>

namespace rldp::actors {

/// While one lives, the first signal calls what on_signal() set, a second one ends the process at once with status 130
/// (a run stays resumable: every charge and release is on disk). With nothing set, the first does. At most one at a
/// time.
class signal_watch {
  public:
    /// `last_words` come before such an end.
    explicit signal_watch(std::function<void()> last_words = [] {});
    ~signal_watch();
    signal_watch(const signal_watch&) = delete;
    signal_watch& operator=(const signal_watch&) = delete;

    void on_signal(std::function<void()> stop);

  private:
    void watch();

    int read_end_ = -1;
    std::mutex mutex_;
    std::function<void()> stop_, last_words_;
    std::thread thread_;
};

}  // namespace rldp::actors
