#pragma once
// What strangers at a run's port can take of it, at most.
#include <chrono>
#include <cstddef>

namespace rldp::monitor {

struct stream_limits {
    using time = std::chrono::milliseconds;

    std::size_t request_header = 8 * 1024;  ///< bytes
    std::size_t connections = 64;           ///< and never more than a quarter of the files that the process may open
    int kernel_buffer = 32 * 1024;  ///< bytes that the system holds in each direction of a connection (twice on Linux)
    time request{10'000};           ///< to send the request in
    time write{10'000};             ///< for a write to move a byte
    time heartbeat{5'000};          ///< between two comments, which show that the run is alive
    time accept_pause{1'000};       ///< after a connection could not be accepted
    time farewell{1'000};           ///< at the end, for watchers to take the last value
};

}  // namespace rldp::monitor
