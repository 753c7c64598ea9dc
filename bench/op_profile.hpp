#pragma once
// Where the time of some work goes, by torch's operators.
#include <functional>
#include <string>
#include <vector>

namespace rldp::bench {

struct op_time {
    std::string name;     ///< aten::mm, …; a function of ours by its backward node's name
    double milliseconds;  ///< its own, without the operators that it calls, on the thread that called it
    long calls;
};

/// Runs `work` under torch's operator callbacks; descending by time. What lies between operators is not in the list. On
/// a device that works asynchronously these are the times to launch, not to compute.
std::vector<op_time> profile_ops(const std::function<void()>& work);

}  // namespace rldp::bench
