#pragma once
// Text files: unpacked, read piece by piece, checked, and plain lines as records.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"

namespace rldp::data {

// Unpacking. A file's bytes, unpacked on the way where its name says gzip (.gz) or Zstandard (.zst).

enum class packing { none, gzip, zstd };

struct file_name {
    std::string extension;  ///< of what is inside, in lower case, with its point
    packing packed = packing::none;
};
/// "notes.JSONL.gz" is a packed ".jsonl".
file_name name_of_file(const std::filesystem::path& path);

/// The one command by which a table of a kind that is not read becomes a configuration.
std::string through_pipe(const std::string& path);

class unpacker;

/// Or, of data.path "-", the rows that came through a pipe.
class unpacked_file {
  public:
    /// Errors: bad_input for what input_file refuses, and for a file that begins as another kind does, such as Parquet,
    /// Excel or SQLite; it is named.
    explicit unpacked_file(const std::filesystem::path& path);
    ~unpacked_file();

    /// Up to `room` bytes; fewer only at the end. Errors: bad_input where the packed bytes are damaged or end early.
    std::size_t read(char* into, std::size_t room);
    /// Begins again with the same file, even if another one has its name by now.
    void rewind();

  private:
    std::optional<input_file> file_;    ///< absent of rows that came through a pipe
    std::unique_ptr<unpacker> unpack_;  ///< null where nothing is packed
    std::string_view piped_, left_;     ///< those rows, and what was not yet read of them
};

// Pieces. A text file piece by piece: no more than a piece of it is in memory.

/// Whole lines of a file.
struct piece {
    std::string text;
    std::size_t line = 1;  ///< of the file, where it begins
};

/// Cuts a file at line ends.
class piece_reader {
  public:
    /// Line ends inside double quotes do not count where `quotes` is set. `size`: about how many bytes a piece has.
    /// Errors: see unpacked_file.
    piece_reader(const std::string& path, bool quotes, std::size_t size = 1 << 20);

    /// The next piece, without a byte-order mark; nothing at the end. Errors: bad_input where the file is empty or a
    /// piece is not UTF-8 (names the line).
    std::optional<piece> next();
    /// Begins again with the same file, even if another one has its name by now.
    void rewind();
    const std::string& path() const { return name_; }

  private:
    bool fill();
    void scan();

    std::string name_;
    unpacked_file file_;
    bool quotes_;
    std::size_t size_;
    std::string rest_;         ///< read, and not yet given out
    std::size_t scanned_ = 0;  ///< bytes of `rest_`
    std::size_t cut_ = 0;      ///< the last place to cut that scan() found, 0 for none
    bool inside_ = false;      ///< quotes, at `scanned_`
    bool begun_ = false, ended_ = false;
    std::size_t line_ = 1;
};

// Lines. Text files, checked: plain lines become records.

/// Where a column of a table stands in a record's text, in bytes.
struct clause {
    std::size_t column;              ///< in the order of record_stream::columns()
    text_range whole;                ///< the clause
    std::vector<text_range> values;  ///< what in it depends on the value
};

/// One record before it joins a unit.
struct record {
    std::string text;
    std::string key;                       ///< value of the record key column; empty where none is declared
    std::string group;                     ///< value of the unit's key column; empty with record units
    std::vector<clause> clauses = {};      ///< none of a record that is text already
    std::vector<text_range> answers = {};  ///< of a conversation: what is learned, all else being context
};

/// Refuses with "file:line: what".
[[noreturn]] void refuse_at(const std::string& file, std::size_t line, const std::string& what);

/// The bytes without a byte-order mark. Errors: bad_input where they are empty or not UTF-8 (names the line).
std::string checked_text(std::string bytes, const std::string& file);

/// The bytes, which begin on line `first` of the file. Errors: bad_input where they are not UTF-8 (names the line).
std::string checked_utf8(std::string bytes, const std::string& file, std::size_t first);

/// Nothing but spaces and tabs.
bool is_blank(std::string_view text);

/// A line that is not blank, with its number.
struct text_line {
    std::string_view text;
    std::size_t number;
};

/// The lines of `text`, which begins on line `first` of a file, without line ends; blank ones are left out.
std::vector<text_line> split_lines(std::string_view text, std::size_t first = 1);

/// One record per line; empty lines are skipped.
std::vector<record> read_lines(const std::string& path);

}  // namespace rldp::data
