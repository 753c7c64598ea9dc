#pragma once
// What a report says of a prepared policy: where it comes from, what it won there, and whether it steers.
#include <cstdint>
#include <string>
#include <vector>

#include "rl/prepare/prepared_policy.hpp"

namespace rldp::rl {

/// Plain sentences. Figures that the file lacks are left out.
std::vector<std::string> describe_policy(const prepared_policy& of);

/// What a run of so many steps should be warned of.
std::vector<std::string> list_warnings(const prepared_policy& of, std::int64_t steps);

}  // namespace rldp::rl
