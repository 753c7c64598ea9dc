#pragma once
// CSV after RFC 4180: quoted fields, doubled quotes, line ends inside quotes; LF or CRLF; a byte-order mark is skipped.
// Fields end at tabs in a .tsv, else at what the header has most of outside quotes: commas, semicolons, or tabs.
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::data {

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

}  // namespace rldp::data
