#pragma once
// A second device whose memory is the host's (LibTorch's PrivateUse1) and whose operators are the CPU's: what is
// written for a device runs on it without one. As a CUDA device it refuses operators that mix devices, and it counts
// what the host would have to wait for there.
#include <ATen/core/Tensor.h>
#include <torch/version.h>

#include <map>
#include <string>
#include <vector>

namespace rldp::testing {

/// Registered for LibTorch 1.13 only, whose interface to such devices changed later.
constexpr bool has_host_device = TORCH_VERSION_MAJOR == 1;

inline at::Device host_device() {
    return {at::kPrivateUse1, 0};
}

/// Since the last call, each by its operator's name: copies to the CPU ("to the CPU"), copies from there that wait
/// ("from the CPU, waiting"), and operators whose result's shape or value the host needs ("aten::nonzero").
std::map<std::string, int> waits();

/// What streams of the device were told since the last call: "record 0", "block 1", "use 1".
std::vector<std::string> stream_log();

}  // namespace rldp::testing
