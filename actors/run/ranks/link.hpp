#pragma once
// What connects rank 0 with each other rank: two streams, for nobody reads the first while a rank computes.
#include <chrono>
#include <span>

#include "config/base/descriptor.hpp"

namespace rldp::ranks {

struct link {
    descriptor words;  ///< what the run says
    descriptor beats;  ///< that this end is there
};

using moment = std::chrono::steady_clock::time_point;
inline constexpr moment whenever = moment::max();

/// Sends or receives all of `bytes`. Answers false where the other end is gone (errno says how; 0 where it ended in
/// order) or `until` has passed (ETIMEDOUT).
bool send_all(const descriptor& to, std::span<const char> bytes, moment until = whenever);
bool receive_all(const descriptor& from, std::span<char> bytes, moment until = whenever);

/// Makes a socket that has been let in what a link wants: one that waits, and holds nothing back.
void settle(const descriptor& socket);

/// As poll takes it; never for `whenever`.
int milliseconds_until(moment until);
/// Waits for poll's `events` at a socket; answers false once `until` has passed.
bool ready(const descriptor& socket, short events, moment until);

}  // namespace rldp::ranks
