#pragma once
#include <cstddef>

namespace rldp {

/// Bytes [begin, end) of a text.
struct text_range {
    std::size_t begin, end;
    bool operator==(const text_range&) const = default;
};

}  // namespace rldp
