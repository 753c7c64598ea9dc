#pragma once
// Tables for a terminal.
#include <string>
#include <vector>

namespace rldp::eval {

/// Columns two spaces apart, each as wide as its widest cell; widths count characters, not bytes.
std::string text_table(std::vector<std::vector<std::string>> rows);

}  // namespace rldp::eval
