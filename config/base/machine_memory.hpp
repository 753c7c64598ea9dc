#pragma once
// How much memory there is, and what to say when there is not enough.
#include <cstdint>
#include <exception>
#include <string>

namespace rldp {

/// Bytes that this machine has, or that the control group of this process may use where that is less.
std::int64_t memory_there();

/// "5.2 GiB"; less than a tenth in MiB.
std::string memory_text(std::int64_t bytes);

/// One line on an exception that is not ours. Where memory ran out (std::bad_alloc, LibTorch's allocators), it says how
/// much was asked for, as far as that is known, how much there is and what takes less. Where a CUDA device is lost,
/// that a run can go on.
std::string describe_exception(const std::exception& thrown);

}  // namespace rldp
