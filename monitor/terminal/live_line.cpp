#include "monitor/terminal/live_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/output.hpp"
#include "base/system.hpp"

namespace rldp::monitor {

namespace {

using namespace std::chrono_literals;

constexpr auto between_drawings = 200ms;
constexpr auto patience = 1000ms;  // before a sign of life is called for

}  // namespace

std::string with_sign_of_life(const line_text& text, std::size_t width, std::chrono::milliseconds waited,
                              std::size_t tick) {
    if (waited < patience) return text(width);
    constexpr std::array marks = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    const auto seconds = std::chrono::floor<std::chrono::seconds>(waited).count();
    const auto time = seconds < 60     ? fmt::format("{} s", seconds)
                      : seconds < 3600 ? fmt::format("{}:{:02} min", seconds / 60, seconds % 60)
                                       : fmt::format("{}:{:02} h", seconds / 3600, seconds / 60 % 60);
    const auto columns = time.size() + 4;  // with the mark, and blanks around it
    if (width <= columns) return text(width);
    return fmt::format("{}  {} {}", text(width - columns), marks[tick % marks.size()], time);
}

std::string loading_text(const loading& seen) {
    const auto share = static_cast<double>(seen.done) / static_cast<double>(std::max<std::int64_t>(1, seen.total));
    // A count would tell one record more (docs/privacy.md §1), and so would a fine share of one.
    if (!seen.in_bytes)
        return seen.total == 0 ? fmt::format("reading {}", seen.what)
                               : fmt::format("reading {}  {:.0f} %", seen.what, 10 * std::floor(10 * share));
    constexpr double gib = 1 << 30;
    return fmt::format("reading {}  {:.0f} % ({:.1f} of {:.1f} GiB)", seen.what, 100 * share,
                       static_cast<double>(seen.done) / gib, static_cast<double>(seen.total) / gib);
}

live_line::live_line() : drawer_([this](const std::stop_token& until) { draw_while_wanted(until); }) {}

live_line::~live_line() {
    erase();
    drawer_.request_stop();
    woken_.notify_all();
}

void live_line::show(line_text text) {
    const std::lock_guard lock(mutex_);
    const bool began = !text_;
    text_ = std::move(text);
    since_ = clock::now();
    if (began) woken_.notify_all();
}

void live_line::wipe() {
    if (drawn_) say(stderr, "\r\x1b[K");
    drawn_ = false;
}

void live_line::erase() {
    const std::lock_guard lock(mutex_);
    wipe();
    text_ = {};
}

void live_line::keep() {
    const std::lock_guard lock(mutex_);
    if (!text_) return;
    wipe();
    say(stderr, "{}\n", text_(terminal_width() - 1));
    text_ = {};
}

void live_line::draw_while_wanted(const std::stop_token& until) {
    std::unique_lock lock(mutex_);
    for (std::size_t tick = 0; !until.stop_requested(); ++tick) {
        woken_.wait(lock, until, [&] { return static_cast<bool>(text_); });
        woken_.wait_for(lock, until, between_drawings, [] { return false; });
        if (!text_) continue;
        const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - since_);
        // One write, or a terminal shows half of it.
        say(stderr, "{}{}", terminal_control{drawn_ ? "\r\x1b[K" : ""},
            with_sign_of_life(text_, terminal_width() - 1, waited, tick));
        drawn_ = true;
    }
}

on_loading loading_line() {
    if (isatty(STDERR_FILENO) == 0) return {};
    return [line = std::make_shared<live_line>()](const loading& seen) {
        if (seen.total > 0 && seen.done >= seen.total)
            line->erase();
        else
            line->show([text = loading_text(seen)](std::size_t width) { return text.substr(0, width); });
    };
}

}  // namespace rldp::monitor
