#pragma once
// The date that a page says it is of.
#include <string>

namespace rldp {

/// UTC, as 2026-01-31. SOURCE_DATE_EPOCH, in seconds since 1970, takes the clock's place where it is set.
std::string today();
/// With the time: 2026-01-31T12:00:00Z.
std::string now();

}  // namespace rldp
