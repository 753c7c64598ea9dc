#pragma once
// A hub for tests that look at what others tell it.
#include <functional>

#include "actors/actors.hpp"

namespace rldp::testing {

/// What a hub hears that does nothing of its own.
struct hub_ears {
    std::function<void(const eval::metrics_line&)> metrics = [](const auto&) {};
    std::function<void(std::int64_t step)> progress = [](auto) {};
    std::function<void(std::int64_t step, const eval::scores&)> evaluated = [](auto, const auto&) {};
};

inline actors::hub_actor::behavior_type make_quiet_hub(hub_ears ears = {}) {
    using namespace rldp::actors;
    return {[](subscribe_atom, const display_actor&) { return run_view{}; },
            [](ack_atom) {},
            [](announce_atom, const run_header&) {},
            [metrics = ears.metrics](metrics_atom, const eval::metrics_line& line) { metrics(line); },
            [progress = ears.progress](progress_atom, std::int64_t step, double, bool) { progress(step); },
            [](evaluate_atom, std::int64_t) {},
            [evaluated = ears.evaluated](evaluated_atom, std::int64_t step, const eval::scores& found) {
                evaluated(step, found);
            },
            [](sync_atom) {},
            [](state_atom, const std::string&) {},
            [](tick_atom) {}};
}

}  // namespace rldp::testing
