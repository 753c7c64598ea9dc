#pragma once
// Tables and lists as HTML.
#include <cstddef>
#include <string>
#include <vector>

namespace rldp::eval {

/// A table whose first `text_columns` are text; the others are aligned as numbers. All cells are HTML.
std::string html_table(const std::string& caption, const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows, std::size_t text_columns = 1);
/// A list whose items are HTML.
std::string html_list_of_html(const std::vector<std::string>& items);
/// A list of plain sentences.
std::string html_list(const std::vector<std::string>& sentences);

}  // namespace rldp::eval
