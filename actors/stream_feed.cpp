#include "actors/stream_feed.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>
#include <utility>

namespace rldp::actors {

stream_feed::stream_feed(caf::actor_system& system, display_actor display, std::unique_ptr<monitor::run_reader> from,
                         std::function<void(const std::string&)> say, std::function<void()> on_end,
                         std::chrono::milliseconds pause)
    : system_(system),
      display_(std::move(display)),
      say_(std::move(say)),
      on_end_(std::move(on_end)),
      pause_(pause),
      reader_(std::move(from)),
      thread_([this](const std::stop_token& over) { run(over); }) {}

void stream_feed::run(const std::stop_token& over) {
    const std::stop_callback stopping(over, [this] { reader_->stop(); });
    std::mutex mutex;
    std::condition_variable_any waiting;
    while (!over.stop_requested()) {
        follow_one();
        std::unique_lock lock(mutex);
        waiting.wait_for(lock, over, pause_, [] { return false; });
    }
}

void stream_feed::follow_one() {
    const caf::scoped_actor self(system_);
    bool attached = false;
    const auto pass_on = [&](const run_view& seen) {
        if (!std::exchange(attached, true)) say_("attached to run " + seen.name);
        self->request(display_, caf::infinite, seen).receive([] {}, [](const caf::error&) {});
    };
    std::string why;
    try {
        why = reader_->follow(pass_on);
    } catch (const std::exception& failed) {
        why = failed.what();
    }
    if (why == monitor::run_reader::stopped) return;
    const bool silent = attached && why == monitor::run_reader::silent;
    // A run that fell silent may speak again; where nobody is there any more it was over.
    if ((attached && !silent) || (fell_silent_ && why == monitor::run_reader::nobody)) on_end_();
    if (attached || why == monitor::run_reader::nobody) fell_silent_ = silent;
    // That nobody is there goes without saying, and what goes on is said once.
    if (attached)
        say_(why + (silent ? "; waiting for it" : "; waiting for another"));
    else if (why != monitor::run_reader::nobody && why != said_)
        say_(why + "; waiting");
    said_ = attached ? std::string() : why;
}

}  // namespace rldp::actors
