#pragma once
// What the system around the program says and takes: memory, date, terminal, home, environment, parent.
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <vector>

namespace rldp {

// Machine. What it is called, how much memory there is, and what to say when there is not enough.

/// What this machine calls itself; empty where it says nothing.
std::string machine_name();

/// Bytes that this machine has, or that the control group of this process may use where that is less.
std::int64_t memory_there();

/// "5.2 GiB"; less than a tenth in MiB.
std::string memory_text(std::int64_t bytes);

/// "0.032 s", "45 s", "12 min", "2.5 h", "3 days": in round figures. At least 0.
std::string time_text(double seconds);

/// Whether memory ran out, of this machine or of its CUDA device: the machine's failure, whatever was computed.
bool is_shortage(const std::exception& thrown);

/// One line on an exception that is not ours. Where memory ran out (std::bad_alloc, LibTorch's allocators), it says how
/// much was asked for, as far as that is known, how much there is and what takes less. Where a CUDA device is lost,
/// that a run can go on.
std::string describe_exception(const std::exception& thrown);

// Date. The one that a page says it is of.

/// UTC, as 2026-01-31. SOURCE_DATE_EPOCH, in seconds since 1970, takes the clock's place where it is set.
std::string today();
/// With the time: 2026-01-31T12:00:00Z.
std::string now();

/// Of a date, as today() writes it, in seconds since 1970; 0 for what is none.
std::int64_t parse_date(const std::string& date);

// Terminal. How wide the one behind standard error is.

/// Columns; 80 where nobody knows.
inline std::size_t terminal_width() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// Home. "~/" before a path, which a shell leaves as it is where it does not begin a word (--out=~/runs), and no shell
// ever sees in a file.

/// "~/records" in the owner's home. Where HOME says nothing, as it is.
inline std::string with_home(std::string path) {
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home != '\0' && (path == "~" || path.starts_with("~/"))) path.replace(0, 1, home);
    return path;
}

// Arguments and environment. What exec and posix_spawn take, made of strings.

/// This process's environment with these variables in place of its own.
inline std::vector<std::string> environment_with(const std::map<std::string, std::string>& own) {
    std::vector<std::string> out;
    for (const auto& [name, value] : own) out.push_back(name + "=" + value);
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        if (!own.contains(text.substr(0, text.find('=')))) out.push_back(text);
    }
    return out;
}

/// Null at the end. They point into `texts`.
inline std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (auto& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

// Parent. For a process that must not outlive the one that started it.

/// From now on SIGTERM comes when `parent` is gone. One that was gone before is told by nobody, so that is asked. Safe
/// between fork and exec.
inline void end_with_parent(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::raise(SIGTERM);
}

}  // namespace rldp
