#pragma once
// How a device is named.
#include <algorithm>
#include <string_view>

namespace rldp {

/// cpu, cuda or cuda:N with N below 1000.
inline bool is_device_name(std::string_view name) {
    if (name == "cpu" || name == "cuda") return true;
    if (!name.starts_with("cuda:")) return false;
    const auto number = name.substr(5);
    return !number.empty() && number.size() <= 3 &&
           std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace rldp
