#include "run/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "base/error.hpp"

namespace rldp::actors {

namespace {

std::atomic<int> write_end = -1;  // a signal handler reaches nothing else

constexpr char stop_byte = 's', over_byte = 'o';

void tell(char what) {
    const int kept = errno;
    while (::write(write_end, &what, 1) < 0 && errno == EINTR) {
    }
    errno = kept;
}

void handle(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

}  // namespace

signal_watch::signal_watch(std::function<void()> last_words) : last_words_(std::move(last_words)) {
    int ends[2];
    if (::pipe(ends) != 0) throw error(errc::failed, "no pipe for signals: too many open files?");
    read_end_ = ends[0];
    write_end = ends[1];
    thread_ = std::thread([this] { watch(); });
    handle([](int) { tell(stop_byte); });
}

signal_watch::~signal_watch() {
    handle(SIG_DFL);
    tell(over_byte);
    thread_.join();
    ::close(write_end.exchange(-1));
    ::close(read_end_);
}

void signal_watch::on_signal(std::function<void()> stop) {
    const std::lock_guard lock(mutex_);
    stop_ = std::move(stop);
}

void signal_watch::watch() {
    for (char what = 0; what != over_byte;) {
        if (::read(read_end_, &what, 1) != 1 || what != stop_byte) continue;
        const std::lock_guard lock(mutex_);
        if (!stop_) {
            last_words_();
            ::_exit(static_cast<int>(errc::interrupted));
        }
        std::exchange(stop_, {})();
    }
}

}  // namespace rldp::actors
