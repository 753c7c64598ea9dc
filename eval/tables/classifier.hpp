#pragma once
// Classifiers of scikit-learn, in a process of their own: one trained on made-up rows beside one trained on real ones.
#include <optional>
#include <string>
#include <vector>

#include "eval/tables/judgement.hpp"

namespace rldp::eval {

/// Classes of tables.target: the values of a category; of a number of many values whether it is above the median of
/// training rows. Logistic regression and boosted trees tell them from the columns that are neither the target nor
/// text. Rows go to the process through memory, never through a file. Nothing, with a line in `left_out`, where Python
/// or scikit-learn is not installed, or there are no two classes to tell.
std::optional<target_quality> judge_target(const judged_tables& tables, std::vector<std::string>& left_out);

}  // namespace rldp::eval
