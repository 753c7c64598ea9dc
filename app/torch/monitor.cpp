#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "actors/display.hpp"
#include "actors/stream_feed.hpp"
#include "actors/threads.hpp"
#include "app/commands.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "monitor/http/reader.hpp"
#include "monitor/terminal/terminal.hpp"
#include "monitor/view/run_view.hpp"
#include "run/signals.hpp"

namespace rldp::app {

namespace {

struct monitor_arguments {
    std::string address, authority, tokens;
    bool once = false, until_end = false, json = false;
    double timeout = 0;  ///< seconds; 0: none
};

/// What came so far, for whoever waits for it.
class arrivals {
  public:
    using clock = std::chrono::steady_clock;

    void note(const monitor::run_view& seen) {
        {
            const std::lock_guard guard(mutex_);
            last_ = clock::now();
            ++count_;
            over_[seen.name] = !monitor::goes_on(seen);
        }
        news_.notify_all();
    }
    /// Ctrl-C.
    void stop() { set(stopped_); }
    /// The stream of the run is over, whatever it told last.
    void cut() { set(cut_); }
    bool was_cut() const {
        const std::lock_guard guard(mutex_);
        return cut_;
    }
    bool stopped() const {
        const std::lock_guard guard(mutex_);
        return stopped_;
    }
    std::size_t count() const {
        const std::lock_guard guard(mutex_);
        return count_;
    }
    /// Until more than `seen` have come, or it is stopped or cut, at most so long.
    void wait(std::size_t seen, clock::duration most) {
        std::unique_lock lock(mutex_);
        news_.wait_for(lock, most, [&] { return stopped_ || cut_ || count_ > seen; });
    }
    bool any() const {
        const std::lock_guard guard(mutex_);
        return !over_.empty();
    }
    bool all_over() const {
        const std::lock_guard guard(mutex_);
        return !over_.empty() && std::all_of(over_.begin(), over_.end(), [](const auto& run) { return run.second; });
    }
    /// Since the last, or since the beginning.
    clock::duration quiet() const {
        const std::lock_guard guard(mutex_);
        return clock::now() - last_;
    }

  private:
    void set(bool& flag) {
        {
            const std::lock_guard guard(mutex_);
            flag = true;
        }
        news_.notify_all();
    }
    mutable std::mutex mutex_;
    std::condition_variable news_;
    bool stopped_ = false, cut_ = false;
    std::size_t count_ = 0;
    clock::time_point last_ = clock::now();
    std::map<std::string, bool> over_;
};

winsize terminal_size() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2 || size.ws_row < 2) return {24, 80, 0, 0};
    return size;
}

/// On a terminal one line that is rewritten; elsewhere a line per value.
actors::show live_line() {
    return [terminal = isatty(STDOUT_FILENO) != 0,
            time = std::make_shared<monitor::time_left>()](const monitor::run_view& seen) {
        time->observe(seen, monitor::time_left::clock::now());
        const std::size_t width = terminal ? terminal_size().ws_col - 1U : 200;
        // What is kept in a file shows no times.
        const auto left = terminal ? time->estimate() : std::nullopt;
        say("{}{}{}", terminal_control{terminal ? "\r\x1b[K" : ""}, monitor::progress_line(seen, left, width),
            terminal_control{terminal && monitor::goes_on(seen) ? "" : "\n"});
        std::fflush(stdout);
    };
}

/// On a terminal a table that is redrawn in place; elsewhere a line per value.
actors::show live_table() {
    return [terminal = isatty(STDOUT_FILENO) != 0, table = std::make_shared<monitor::run_table>(),
            above = std::make_shared<std::ptrdiff_t>(0),
            width = std::make_shared<unsigned>(0)](const monitor::run_view& seen) {
        if (!terminal) {
            say("{}\n", monitor::progress_line(seen, {}, 200));
        } else {
            table->observe(seen);
            const auto size = terminal_size();
            const auto drawn = table->drawn(size.ws_col - 1U, size.ws_row - 1U);
            // In another width the terminal has wrapped what is there anew: how many lines that are, it alone knows.
            if (*above > 0 && size.ws_col != *width)
                say("\x1b[2J\x1b[H");
            else if (*above > 0)
                say("\x1b[{}A\r\x1b[J", *above);
            // Names may be wider than their characters are many: such a line is cut, not wrapped.
            say("\x1b[?7l");
            say_text(drawn);
            say("\x1b[?7h");
            *width = size.ws_col;
            *above = std::count(drawn.begin(), drawn.end(), '\n');
        }
        std::fflush(stdout);
    };
}

/// For other programs: a line of JSON per value.
actors::show json_lines() {
    return [](const monitor::run_view& seen) {
        say("{}\n", monitor::to_row(seen));
        std::fflush(stdout);
    };
}

actors::show shown_as_asked(const monitor_arguments& given, bool several) {
    if (given.json) return json_lines();
    return several ? live_table() : live_line();
}

std::unique_ptr<monitor::run_reader> open_reader(const monitor_arguments& given) {
    if (monitor::is_of_one_run(given.address) && !(given.authority.empty() && given.tokens.empty()))
        refuse("monitor: --ca and --token-file are for the address of a dashboard, such as https://lab.example:8787");
    auto where = monitor::parse_place(given.address);
    if (!given.authority.empty()) where.authority = given.authority;
    if (!given.tokens.empty()) where.token = monitor::read_viewer_token(given.tokens);
    return std::make_unique<monitor::run_reader>(std::move(where));
}

int watch(const monitor_arguments& given) {
    using namespace std::chrono_literals;
    auto reader = open_reader(given);
    const bool several = !monitor::is_of_one_run(given.address);
    const auto came = std::make_shared<arrivals>();
    actors::signal_watch signals;
    signals.on_signal([came] { came->stop(); });
    const auto show = [came, how = shown_as_asked(given, several)](const monitor::run_view& seen) {
        how(seen);
        came->note(seen);
    };
    constexpr auto settled = 700ms;  // a dashboard tells of its runs one by one: all are there once it is quiet
    const auto done = [&] {
        if (given.once && came->any() && (!several || came->quiet() >= settled)) return true;
        return came->stopped() || came->was_cut() || (given.until_end && came->all_over());
    };
    const auto patience =
        given.timeout > 0
            ? std::chrono::duration_cast<arrivals::clock::duration>(std::chrono::duration<double>(given.timeout))
            : arrivals::clock::duration::max();

    actors::system_config configuration;
    caf::actor_system system(configuration);
    if (!given.once && !given.json) say(stderr, "waiting for a run at {}; Ctrl-C ends\n", given.address);
    const auto display = system.spawn<caf::detached>(actors::make_fed_display, show);
    bool in_time = true;
    {
        const auto say_news = [came](const std::string& news) {
            if (!came->was_cut()) say(stderr, "\n{}\n", news);
        };
        // A dashboard may come back; a run that is gone without a last word was killed.
        const auto on_end = [came, ends = given.until_end && !several] {
            if (ends) came->cut();
        };
        const actors::stream_feed feed(system, display, std::move(reader), say_news, on_end);
        for (auto seen = came->count(); in_time && !done(); seen = came->count()) {
            const auto left = std::min<arrivals::clock::duration>(patience - came->quiet(), 1h);
            came->wait(seen, given.once && came->any() ? std::min<arrivals::clock::duration>(left, settled) : left);
            in_time = came->quiet() < patience;
        }
    }
    caf::anon_send_exit(display, caf::exit_reason::user_shutdown);
    if (!in_time && !done())
        throw error(errc::failed,
                    fmt::format("monitor: nothing came from {} for {:g} s", given.address, given.timeout));
    if (!given.json && !given.once) say("\n");
    if (came->was_cut() && !came->all_over())
        throw error(errc::failed,
                    fmt::format("monitor: the run at {} is gone without having said how it ended; it was killed, "
                                "or the way to it was cut",
                                given.address));
    return 0;
}

}  // namespace

void add_monitor(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "monitor");
    auto given = std::make_shared<monitor_arguments>();
    command->add_option("address", given->address, "HOST:PORT of a run (loopback), or https://HOST:PORT of a dashboard")
        ->required();
    command->add_option("--ca", given->authority,
                        "of a dashboard: PEM certificate to trust, its own or its authority's (default: the system's)");
    command->add_option("--token-file", given->tokens, "of a dashboard: file with a viewer's token");
    command->add_flag("--once", given->once, "show what is there now, and end");
    command->add_flag("--until-end", given->until_end,
                      "end when the run does; of a dashboard, when all its runs are over");
    command->add_flag("--json", given->json, "a line of JSON per value");
    command->add_option("--timeout", given->timeout, "fail where nothing comes for so many seconds")
        ->check(CLI::Range(0.1, 1e9));
    command->footer(
        "Examples: rldp monitor 127.0.0.1:4242\n"
        "          rldp monitor https://lab.example:8787 --ca dashboard.pem --token-file token");
    command->callback([given, &chosen] { chosen = [given] { return watch(*given); }; });
}

}  // namespace rldp::app
