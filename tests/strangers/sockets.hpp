#pragma once
// A process and all that it has started, as /proc shows them.
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rldp::testing {

std::vector<pid_t> list_process_tree(pid_t root);

struct listening {
    std::string address;  ///< as inet_ntop writes it; of a Unix socket "unix"
    std::uint16_t port = 0;
    auto operator<=>(const listening&) const = default;
};

/// Every socket at which the family takes connections or datagrams.
std::set<listening> listening_sockets(pid_t root);

/// The most that each of the family has held, in KiB; goes on with `before`.
void note_memory(pid_t root, std::map<pid_t, std::int64_t>& peaks);

}  // namespace rldp::testing
