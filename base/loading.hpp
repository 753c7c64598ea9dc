#pragma once
// What is told to somebody who waits for a long reading.
#include <cstdint>
#include <functional>
#include <string_view>

namespace rldp {

struct loading {
    std::string_view what;     ///< "weights", "records"
    std::int64_t done, total;  ///< 0 where the total is not known yet
    bool in_bytes;             ///< else they are records, whose number is nobody's to see
};

/// May be called by several threads at a time, with values out of order.
using on_loading = std::function<void(const loading&)>;

}  // namespace rldp
