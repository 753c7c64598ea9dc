#pragma once
// What the preloaded library recorded of a process (shim/journal.hpp).
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/files.hpp"

namespace rldp::testing {

struct event {
    std::string kind;  ///< create, mkdir, write, truncate, fsync, rename, unlink, rmdir, open, close
    long long number = 0;
    std::string where;
    std::string bytes;  ///< of a write; of a rename the new path
};

/// A record that was cut by the process's death is none.
std::vector<event> read_journal(const path& file);

/// The same call in another run, as the library's orders name it: its kind, the end of its path, which of those it is.
struct named_point {
    std::string kind, where;
    long number = 0;

    std::string order(const std::string& action) const;
};
named_point point_at(const std::vector<event>& journal, std::size_t index);

}  // namespace rldp::testing
