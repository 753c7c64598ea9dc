#pragma once
// One line of text that shows a run to a person.
#include <chrono>
#include <optional>
#include <string>

#include "monitor/view/run_view.hpp"

namespace rldp::monitor {

/// Estimates the time left from the steps and the clock between the first and the latest view of one run.
class time_left {
  public:
    using clock = std::chrono::steady_clock;
    void observe(const run_view& seen, clock::time_point now);
    std::optional<std::chrono::seconds> estimate() const;

  private:
    std::int64_t first_step_ = -1, step_ = 0, steps_ = 0;
    clock::time_point first_, last_;
};

/// "demo ███░░░ step 42/120  loss 1.830  ε ~3.10 of 8.00 guaranteed  00:01:15 left"; the bar gives way first where
/// `width` columns are too few. "~" marks progress ε, which is for orientation; what is guaranteed is the budget as a
/// whole.
std::string progress_line(const run_view& seen, std::optional<std::chrono::seconds> left, std::size_t width);

}  // namespace rldp::monitor
