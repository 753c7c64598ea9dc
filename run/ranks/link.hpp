#pragma once
// What connects rank 0 with each other rank, and how each learns that another is gone.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"
#include "base/error.hpp"

namespace rldp::ranks {

/// Another rank is gone, or what arrived from it is not what it sent: the line names ranks and no record, so it may be
/// shown to anyone.
class peer_error : public error {
  public:
    explicit peer_error(const std::string& line) : error(errc::failed, line) {}
};

// Link. What connects rank 0 with each other rank: two streams, for nobody reads the first while a rank computes.

struct link {
    descriptor words;  ///< what the run says
    descriptor beats;  ///< that this end is there
};

/// What connects a rank with all others where they share a base: streams on which it asks for layers, and on which it
/// is asked, by rank; its own are empty.
struct mesh {
    std::vector<descriptor> asking, asked;
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

// Heartbeat. A byte now and then to each neighbour, whatever this rank computes, and a look at when theirs came.

class heartbeat {
  public:
    /// What is wrong with a neighbour while a run goes on.
    enum class trouble { silent, lost };

    /// `links` outlive it. Calls `alarm`, once and from its own thread, where nothing comes over a link within
    /// `timeout`, or where one has closed and this rank has not ended by itself within `grace`.
    heartbeat(const std::vector<link>& links, std::chrono::seconds timeout, std::function<void(trouble)> alarm);
    ~heartbeat();
    heartbeat(const heartbeat&) = delete;
    heartbeat& operator=(const heartbeat&) = delete;

    /// From now on a neighbour may go; a silent one is missed still.
    void leaving();

    static constexpr std::chrono::seconds grace{2};

  private:
    struct neighbour {
        const descriptor& beats;
        moment heard;
        bool closed = false;
    };

    void beat();
    void listen(neighbour& to, moment now);
    std::optional<trouble> trouble_at(moment now);

    std::vector<neighbour> neighbours_;
    std::chrono::milliseconds timeout_, interval_;
    std::function<void(trouble)> alarm_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool leaving_ = false, over_ = false;
    std::thread thread_;
};

}  // namespace rldp::ranks
