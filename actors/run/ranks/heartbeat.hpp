#pragma once
// A byte now and then to each neighbour, whatever this rank computes, and a look at when theirs came.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "actors/run/ranks/link.hpp"

namespace rldp::ranks {

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
