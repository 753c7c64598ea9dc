#pragma once
// The hub: released numbers to the run log and to whoever watches. Watchers hold one credit each: one unacknowledged
// message at most (and the run's last), then the latest value wins; a slow or silent one costs no memory. Ticks at most
// once a second, with averages, so that no single step's time or value shows (docs/privacy.md §7).
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "actors/actors.hpp"
#include "monitor/tensorboard/event_file.hpp"

namespace rldp::actors {

struct hub_state {
    static constexpr const char* name = "hub";
    struct watcher {
        display_actor handle;
        bool owes_ack = false;  ///< got telemetry that it has not acknowledged
        bool stale = false;     ///< newer telemetry waits for the ack
    };
    telemetry latest;     ///< as it grows, step by step
    telemetry shown;      ///< as of the last tick: all that a watcher ever gets, or single steps could be timed
    double loss_sum = 0;  ///< over `losses` steps since the last tick
    std::int64_t losses = 0;
    bool changed = false;
    std::map<caf::actor_addr, watcher> watchers;
    std::optional<eval::metrics_log> log;
    std::optional<monitor::event_log> events;  ///< where TensorBoard is to read them
    std::map<std::int64_t, eval::metrics_line>
        unevaluated;  ///< recent lines, until an evaluation of their step arrives

    void begin(const run_header& header);
    void show(const eval::metrics_line& line);
    void record(const eval::metrics_line& line);
    void priced(const eval::progress_price& progress, bool logged);
    void evaluated(std::int64_t step, const eval::scores& found);
    void put_in_order();
};

inline constexpr std::chrono::seconds tick_interval{1};

/// `run`: the name that watchers see.
hub_actor::behavior_type make_hub(hub_actor::stateful_pointer<hub_state> self, std::string run);

}  // namespace rldp::actors
