#pragma once
// Telemetry of a running run.
#include "monitor/stream/telemetry.hpp"

inline rldp::monitor::telemetry at_step(std::int64_t step, std::size_t radii = 0) {
    rldp::monitor::telemetry out;
    out.run = "test run";
    out.state = "running";
    out.step = step;
    out.radii.assign(radii, 0.123456789);
    return out;
}
