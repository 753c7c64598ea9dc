#pragma once
// Points made fit to be drawn.
#include <cstddef>
#include <vector>

#include "eval/report/figure.hpp"

namespace rldp::eval {

/// Only the points where the value changes, and the last: a dial stands still between decisions.
curve changes(const curve& points);
/// At most `most` points, evenly chosen, the last one among them.
curve thinned(const curve& points, std::size_t most);
/// Whether a linear axis would flatten the smaller values.
bool spans_decades(const std::vector<series>& lines);
/// A series without points would be a gnuplot error.
void drop_empty(std::vector<series>& lines);

}  // namespace rldp::eval
