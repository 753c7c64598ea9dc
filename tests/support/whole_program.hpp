#pragma once
// rldp and rldp-torch as a function, for tests that fork a process instead of loading LibTorch for each of many runs.
#include <string>
#include <vector>

namespace rldp::testing {

/// What main() does with `rldp ARGUMENTS…`, of any subcommand; the exit status.
int whole_program(const std::vector<std::string>& arguments);

}  // namespace rldp::testing
