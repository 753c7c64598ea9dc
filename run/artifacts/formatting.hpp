#pragma once
// Text, numbers, lists and tables as HTML and for a terminal.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::eval {

// Text and numbers. For the report's page.

/// `text` with & < > " ' as references; bytes that are not UTF-8 stay as they are, browsers show a replacement.
std::string escaped(std::string_view text);
/// Four significant digits; ∞ and "not a number" in words a reader understands.
std::string readable(double value);
/// 73 271: narrow no-break spaces between thousands.
std::string readable(std::int64_t value);

// HTML. Tables and lists.

/// A table whose first `text_columns` are text; the others are aligned as numbers. All cells are HTML.
std::string html_table(const std::string& caption, const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows, std::size_t text_columns = 1);
/// A list whose items are HTML.
std::string html_list_of_html(const std::vector<std::string>& items);
/// A list of plain sentences.
std::string html_list(const std::vector<std::string>& sentences);

// Text. Tables for a terminal.

/// Columns two spaces apart, each as wide as its widest cell; widths count characters, not bytes.
std::string text_table(std::vector<std::vector<std::string>> rows);

}  // namespace rldp::eval
