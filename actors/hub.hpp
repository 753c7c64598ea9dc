#pragma once
// The hub: released numbers to the run log and to whoever watches. Watchers hold one credit each: one unacknowledged
// message at most (and the run's last), then the latest value wins; a slow or silent one costs no memory. Ticks at most
// once a second, with averages, so that no single step's time or value shows (docs/privacy.md §7).
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/actors.hpp"
#include "actors/display.hpp"
#include "monitor/tensorboard/event_file.hpp"

namespace rldp::actors {

struct hub_state {
    static constexpr const char* name = "hub";
    struct watcher {
        display_actor handle;
        bool owes_ack = false;  ///< got a view that it has not acknowledged
        bool stale = false;     ///< a newer one waits for the ack
    };
    run_view latest;      ///< as it grows, step by step
    run_view shown;       ///< as of the last tick: all that a watcher ever gets, or single steps could be timed
    run_view logged;      ///< as the run log has it: in order, whatever the clock
    show tell;            ///< gets `logged` after every step; empty: nobody asks
    double loss_sum = 0;  ///< over `losses` steps since the last tick
    std::int64_t losses = 0;
    bool changed = false;
    std::map<caf::actor_addr, watcher> watchers;
    std::optional<eval::metrics_log> log;
    std::optional<monitor::event_log> events;         ///< where TensorBoard is to read them
    std::string header_hash;                          ///< of the run's ledger
    std::map<std::int64_t, eval::metrics_line> open;  ///< lines that may change: the last, those of `awaited`

    /// Evaluations under way, and what has to be logged after them: where their lines stood in the log would tell how
    /// long they took (docs/privacy.md §7).
    std::set<std::int64_t> awaited;
    std::vector<std::function<void()>> held;

    void begin(const run_header& header);
    /// Now, or once all evaluations that began before are logged.
    void in_order(std::function<void()> write);
    void release_held();
    void enter(const std::string& state);
    void record(const eval::metrics_line& line);
    void remember(const eval::metrics_line& line);
    void priced(const eval::progress_price& progress, bool in_log);
    void evaluated(std::int64_t step, const eval::scores& found);
    void put_in_order();
};

inline constexpr std::chrono::seconds tick_interval{1};

/// `run`: the name that watchers see. `tell` is shown each step as it is logged, with its own loss, from the hub's
/// thread: the same calls whatever the clock.
hub_actor::behavior_type make_hub(hub_actor::stateful_pointer<hub_state> self, std::string run, const show& tell);

}  // namespace rldp::actors
