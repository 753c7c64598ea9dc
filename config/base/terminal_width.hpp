#pragma once
// How wide the terminal behind standard error is.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>

namespace rldp {

/// Columns; 80 where nobody knows.
inline std::size_t terminal_width() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace rldp
