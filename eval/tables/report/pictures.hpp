#pragma once
// Pictures of a table's report that gnuplot has no part in: inline SVG in the page's colours, light and dark.
#include <string>
#include <vector>

#include "eval/tables/judgement.hpp"

namespace rldp::eval {

/// A square for each pair of columns: blue above 0, orange below, the stronger the more; none where there is no value.
/// `title` is text.
std::string heat_map(const std::string& id, const std::string& title, const std::vector<std::string>& names,
                     const association& values);

/// The shares of a column's values as pairs of bars, real and made-up.
std::string bars(const std::string& id, const column_quality& of);

}  // namespace rldp::eval
