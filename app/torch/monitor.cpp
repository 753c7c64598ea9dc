#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <future>

#include "actors/display.hpp"
#include "actors/signals.hpp"
#include "actors/stream_feed.hpp"
#include "actors/threads.hpp"
#include "app/commands.hpp"
#include "app/torch_commands.hpp"
#include "config/base/error.hpp"
#include "config/base/output.hpp"
#include "monitor/terminal/terminal.hpp"

namespace rldp::app {

namespace {

/// On a terminal one line that is rewritten; elsewhere a line per value.
actors::show live_line() {
    return [terminal = isatty(STDOUT_FILENO) != 0,
            time = std::make_shared<monitor::time_left>()](const monitor::telemetry& seen) {
        time->observe(seen, monitor::time_left::clock::now());
        winsize size{};
        const std::size_t width =
            terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U : 200;
        say("{}{}{}", terminal ? "\r\x1b[K" : "", monitor::progress_line(seen, time->estimate(), width),
            terminal && !monitor::is_over(seen) ? "" : "\n");
        std::fflush(stdout);
    };
}

int watch(const std::string& address) {
    const auto where = monitor::loopback_endpoint(address);
    std::promise<void> over;
    actors::signal_watch signals;
    signals.on_signal([&over] { over.set_value(); });

    actors::system_config configuration;
    caf::actor_system system(configuration);
    say(stderr, "waiting for a run at {}; Ctrl-C ends\n", address);
    const auto display = system.spawn<caf::detached>(actors::make_fed_display, live_line());
    {
        const actors::stream_feed feed(system, display, where,
                                       [](const std::string& news) { say(stderr, "\n{}\n", news); });
        over.get_future().wait();
    }
    caf::anon_send_exit(display, caf::exit_reason::user_shutdown);
    say("\n");
    return 0;
}

}  // namespace

void add_monitor(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "monitor");
    auto address = std::make_shared<std::string>();
    command->add_option("address", *address, "HOST:PORT of the run (loopback)")->required();
    command->footer("Example: rldp monitor 127.0.0.1:4242");
    command->callback([address, &chosen] { chosen = [address] { return watch(*address); }; });
}

}  // namespace rldp::app
