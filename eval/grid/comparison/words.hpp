#pragma once
// A comparison's numbers in words, for the page and the terminal alike. All of it is plain text.
#include <cstdint>
#include <string>
#include <vector>

#include "eval/grid/comparison/files.hpp"

namespace rldp::eval {

/// "4.213 ± 0.021 (3)"; without a value what there is instead: "–", "not run", "failed".
std::string in_words(const score& one, std::size_t seeds);
std::string in_words(const statistic& of);
/// "0, 1, 2"; "–" where there are none.
std::string in_words(const std::vector<std::int64_t>& seeds);
/// Four significant digits.
std::string short_number(double value);

/// "RLDP is as good … after 31 % of the steps on average …"; empty where there is nothing to say it of.
std::string speed_sentence(const comparison& of);
/// How the rates were chosen, and what that does not say.
std::vector<std::string> tuning_sentences(const compare_report& report);
/// What holds of the numbers and what does not.
std::vector<std::string> caveats(const compare_report& report);

}  // namespace rldp::eval
