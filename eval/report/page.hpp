#pragma once
// What all our pages have in common: self-contained HTML, readable in print, no network, no script.
#include <string>
#include <vector>

#include "eval/report/figures.hpp"

namespace rldp::eval {

/// A whole page. `body` is HTML, `title` text.
std::string page(const std::string& title, const std::string& body);
/// One that fits a screen of 1280 × 800.
std::string one_screen(const std::string& title, const std::string& body);

/// The figures side by side, or a note where gnuplot could not be run; `data_is_in` is HTML, where the numbers are
/// instead.
std::string figures(const std::vector<captioned>& all, const std::string& data_is_in);

}  // namespace rldp::eval
