#pragma once
// What strangers at the dashboard's port can take, at most.
#include <chrono>
#include <cstddef>

namespace rldp::monitor {

struct http_limits {
    using time = std::chrono::milliseconds;

    std::size_t header = 8192, body = 4096;  ///< bytes of a request
    std::size_t connections = 256;           ///< and never more than a quarter of the files that may be open
    time request{10'000};                    ///< to send a request in
    time write{10'000};                      ///< for an answer to be taken, and for each event
    time idle{30'000};                       ///< between two requests of a connection
    time tick{1'000};                        ///< between two looks at the runs' files, so between two events
    time heartbeat{5'000};                   ///< between two comments of a stream
    time wrong_token{1'000};                 ///< before a wrong token is answered
    time parting{1'000};                     ///< for what came last to be taken, when the server ends
};

}  // namespace rldp::monitor
