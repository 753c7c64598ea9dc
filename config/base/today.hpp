#pragma once
// The date that a page says it is of.
#include <cstdint>
#include <string>

namespace rldp {

/// UTC, as 2026-01-31. SOURCE_DATE_EPOCH, in seconds since 1970, takes the clock's place where it is set.
std::string today();
/// With the time: 2026-01-31T12:00:00Z.
std::string now();

/// Of a date, as today() writes it, in seconds since 1970; 0 for what is none.
std::int64_t parse_date(const std::string& date);

}  // namespace rldp
