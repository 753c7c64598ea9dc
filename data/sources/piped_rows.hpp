#pragma once
// Rows that come through a pipe (data.path "-"), framed, so that an early end and a changed byte are noticed
// (docs/data.md):
//   {"rldp_rows": 1}
//   a JSON line for each row
//   {"rldp_end": {"rows": how many, "sha256": of all bytes between the first line and this one}}
#include <cstdint>
#include <string>
#include <string_view>

namespace rldp::data {

/// What they are called in refusals.
inline constexpr std::string_view piped_name = "standard input";

struct piped_rows {
    std::string_view lines;  ///< JSON lines, each with its end; they lie in sealed memory (base/sealed_input.hpp)
    std::string digest;      ///< hex SHA-256 of them
};

/// Errors: bad_input as of seal_input, for what is no such frame, for one that ends early and for one that was changed.
piped_rows read_piped_rows(int descriptor, std::uint64_t most);

/// Those of standard input: read when they are first asked for, up to half of the machine's memory. Errors: as above.
const piped_rows& standard_rows();

}  // namespace rldp::data
