#pragma once
// Lists as the command line writes them: "0.5,2,4". Errors (bad_input) begin with the option's name.
#include <cstdint>
#include <string>
#include <vector>

namespace rldp::eval {

/// The parts between commas; commas within JSON's brackets and strings do not count. Errors: an empty part, a part
/// twice.
std::vector<std::string> distinct_list(const std::string& option, const std::string& text);
/// Finite numbers above 0. Errors also: anything else, a number twice, however it is written.
std::vector<double> positive_list(const std::string& option, const std::string& text);
/// Whole numbers from 0.
std::vector<std::int64_t> seed_list(const std::string& option, const std::string& text);

}  // namespace rldp::eval
