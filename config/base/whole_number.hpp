#pragma once
// Whole numbers in JSON that may be hostile.
#include <cstdint>

#include "config/base/error.hpp"

namespace rldp {

/// get() alone would turn 1e300 into whatever the processor makes of it, and 2.5 into 2. Errors: as refuse_unless.
template <class Number = std::int64_t, class Json>
Number whole_number(const Json& value) {
    refuse_unless(value.is_number_integer(), value.dump() + " is no whole number");
    return value.template get<Number>();
}

}  // namespace rldp
