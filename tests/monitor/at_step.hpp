#pragma once
// A run under way, as its watchers see it.
#include <string>

#include "monitor/view/run_view.hpp"

namespace rldp::testing {

inline monitor::run_view at_step(std::int64_t step, const std::string& name = "test run") {
    monitor::run_view out;
    out.id = out.name = name;
    out.state = "running";
    out.step = step;
    return out;
}

}  // namespace rldp::testing
