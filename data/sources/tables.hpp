#pragma once
// Tables of text cells: CSV files, what their codes mean, and numbers with a decimal comma.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::data {

// CSV. After RFC 4180: quoted fields, doubled quotes, line ends inside quotes; LF or CRLF; a byte-order mark is
// skipped. Fields end at tabs in a .tsv, else at what the header has most of outside quotes: commas, semicolons, or
// tabs.

/// A table of text cells. All cells lie in one buffer: 8 bytes of overhead per cell.
class table {
  public:
    table(std::string file, std::vector<std::string> columns);

    const std::string& file() const { return file_; }  ///< for messages
    const std::vector<std::string>& columns() const { return columns_; }
    std::size_t rows() const { return lines_.size(); }
    std::string_view cell(std::size_t row, std::size_t column) const;
    std::size_t line(std::size_t row) const { return lines_[row]; }  ///< where the row begins in the file
    std::optional<std::size_t> find(std::string_view column) const;

    /// `cells` has one entry per column.
    void add_row(std::span<const std::string> cells, std::size_t line);

  private:
    std::string file_;
    std::vector<std::string> columns_;
    std::string bytes_;
    std::vector<std::size_t> ends_;
    std::vector<std::size_t> lines_;
};

/// Reads a CSV file a piece at a time. Errors: as read_csv.
class csv_stream {
  public:
    explicit csv_stream(const std::string& path);
    ~csv_stream();
    csv_stream(const csv_stream&) = delete;
    csv_stream& operator=(const csv_stream&) = delete;

    /// The next rows; nothing at the end.
    std::optional<table> next();
    /// What ends fields, once rows were read.
    char delimiter() const;
    void rewind();

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// What ends the fields of a table, by its first line.
char detect_delimiter(std::string_view text);

/// Reads a table whose first line is its header. Lines that are blank are skipped. Errors: bad_input naming the line of
/// a row of the wrong width, an unterminated or stray quote, a lone carriage return, invalid UTF-8, a column named
/// twice; also where the file is empty.
table read_csv(const std::string& path);
/// The same from text, with commas; `file` names it in messages.
table parse_csv(std::string text, const std::string& file);

// Codes. What the numbers of a table's code columns mean.

/// Code column → code → description.
using code_book = std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>>;

/// Reads stacked two-column tables ("admission_type_id,description" …) separated by lines of a lone comma; blanks
/// around cells are trimmed. Errors: bad_input naming the line of a table that is not two columns wide or a code given
/// twice.
code_book read_code_book(const std::string& path);
/// The same from text; `file` names it in messages.
code_book parse_code_book(std::string text, const std::string& file);

// Decimal commas. Numbers as half of Europe writes them: 1.234,5 for 1234.5.

inline bool is_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "1.234,5" as "1234.5"; none where that is no number of such a kind. With neither a comma nor points between groups
/// of three digits there is nothing to read.
inline std::optional<std::string> with_decimal_point(std::string_view text) {
    const auto sign = text.starts_with('-') || text.starts_with('+') ? 1U : 0U;
    const auto comma = std::min(text.find(','), text.size());
    auto whole = text.substr(sign, comma - sign);
    std::string out(text.substr(0, sign));
    const bool grouped = whole.find('.') != std::string_view::npos;
    if (!grouped && comma == text.size()) return std::nullopt;
    for (bool first = true; grouped && !whole.empty(); first = false) {
        const auto group = whole.substr(0, whole.find('.'));
        if (!is_digits(group) || group.size() > 3 || (!first && group.size() != 3)) return std::nullopt;
        out += group;
        whole.remove_prefix(std::min(whole.size(), group.size() + 1));
    }
    if (!grouped) {
        if (!is_digits(whole)) return std::nullopt;
        out += whole;
    }
    if (comma == text.size()) return out;
    const auto fraction = text.substr(comma + 1);
    if (!is_digits(fraction)) return std::nullopt;
    return out.append(".").append(fraction);
}

/// Digits, a sign before them and a point among them at most.
inline bool is_plain_number(std::string_view text) {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    const auto point = text.find('.');
    if (point == std::string_view::npos) return is_digits(text);
    return is_digits(text.substr(0, point)) && is_digits(text.substr(point + 1));
}

}  // namespace rldp::data
