#pragma once
// A control group with so much memory: who takes more is killed by the kernel (cgroups(7), version 1 or 2).
#include <cstdint>

#include "tests/faults/files.hpp"

namespace rldp::testing {

class memory_group {
  public:
    /// Where this process may make none, there is none. Other processes may use the same name.
    memory_group(const std::string& name, std::uint64_t bytes);
    /// Its processes are over.
    ~memory_group();
    memory_group(const memory_group&) = delete;
    memory_group& operator=(const memory_group&) = delete;

    /// The file that a process joins by; empty where there is no group.
    path door() const { return at_.empty() ? path() : at_ / "cgroup.procs"; }

  private:
    path at_;
};

}  // namespace rldp::testing
