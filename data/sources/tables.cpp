#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "data/sources/tables.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

namespace {

/// Reads rows one by one; cells are reused between rows.
class row_reader {
  public:
    /// `text` begins on line `first` of the file.
    row_reader(std::string_view text, const std::string& file, char delimiter, std::size_t first = 1)
        : text_(text), file_(file), delimiter_(delimiter), line_(first), row_line_(first) {}

    /// Reads the next row that is not blank; false at the end.
    bool next() {
        while (at_ < text_.size()) {
            row_line_ = line_;
            width_ = 0;
            do read_field();
            while (take(delimiter_));
            end_line();
            if (width_ > 1 || !cells_[0].empty()) return true;
        }
        return false;
    }

    std::span<const std::string> row() const { return {cells_.data(), width_}; }
    std::size_t line() const { return row_line_; }

  private:
    bool take(char c) {
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    void read_field() {
        if (width_ == cells_.size()) cells_.emplace_back();
        auto& cell = cells_[width_++];
        cell.clear();
        if (take('"'))
            read_quoted(cell);
        else
            read_plain(cell);
    }

    void read_plain(std::string& cell) {
        const auto begin = at_;
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == delimiter_ || c == '\n' || c == '\r') break;
            if (c == '"')
                refuse_at(file_, line_, "a quote inside an unquoted field; quote the whole field and double the quote");
        }
        cell.assign(text_, begin, at_ - begin);
    }

    void read_quoted(std::string& cell) {
        const auto opened = line_;
        do {
            const auto quote = text_.find('"', at_);
            if (quote == std::string_view::npos) refuse_at(file_, opened, "unterminated quote; close it");
            const auto part = text_.substr(at_, quote - at_);
            line_ += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
            cell += part;
            at_ = quote + 1;
            if (at_ < text_.size() && text_[at_] == '"') cell += '"';
        } while (take('"'));
        if (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n' && text_[at_] != '\r')
            refuse_at(file_, line_, "text after a closing quote; double the quotes inside a quoted field");
    }

    void end_line() {
        if (at_ == text_.size()) return;
        const bool carriage = take('\r');
        if (!take('\n') && carriage && at_ < text_.size())
            refuse_at(file_, line_, "a carriage return without a line feed; end lines with LF or CRLF");
        ++line_;
    }

    std::string_view text_;
    const std::string& file_;
    char delimiter_;
    std::size_t at_ = 0;
    std::size_t line_;
    std::size_t row_line_;
    std::size_t width_ = 0;
    std::vector<std::string> cells_;
};

void check_header(std::span<const std::string> header, const std::string& file, std::size_t line) {
    std::set<std::string_view> seen;
    for (const auto& name : header)
        if (!seen.insert(name).second) refuse_at(file, line, fmt::format("column \"{}\" is there twice", name));
}

/// The columns that the next row names.
std::vector<std::string> read_header(row_reader& reader, const std::string& file) {
    check_header(reader.row(), file, reader.line());
    return {reader.row().begin(), reader.row().end()};
}

void read_rows(row_reader& reader, table& into) {
    while (reader.next()) {
        if (reader.row().size() != into.columns().size())
            refuse_at(into.file(), reader.line(),
                      fmt::format("the row has {} field{}, the header has {}; mend the row (fields that hold what ends "
                                  "them need quotes)",
                                  reader.row().size(), reader.row().size() == 1 ? "" : "s", into.columns().size()));
        into.add_row(reader.row(), reader.line());
    }
}

table read_table(std::string_view text, const std::string& file, char delimiter) {
    row_reader reader(text, file, delimiter);
    if (!reader.next()) refuse(file + ": the file is empty");
    table out(file, read_header(reader, file));
    read_rows(reader, out);
    return out;
}

/// What a first line "sep=;" says, which Excel writes and reads; it is taken off the text.
std::optional<char> take_said_delimiter(std::string_view& text) {
    const auto line = text.substr(0, text.find('\n'));
    auto said = line.substr(0, line.find_last_not_of('\r') + 1);
    if (said.starts_with('"') && said.ends_with('"') && said.size() > 1) said = said.substr(1, said.size() - 2);
    const bool is_one = said.size() == 5 && (said.starts_with("sep=") || said.starts_with("SEP="));
    if (!is_one || line.size() == text.size()) return std::nullopt;
    text.remove_prefix(line.size() + 1);
    return said[4];
}

std::optional<char> named_delimiter(const std::string& path) {
    return name_of_file(path).extension == ".tsv" ? std::optional('\t') : std::nullopt;
}

}  // namespace

table::table(std::string file, std::vector<std::string> columns)
    : file_(std::move(file)), columns_(std::move(columns)) {}

std::string_view table::cell(std::size_t row, std::size_t column) const {
    const auto index = row * columns_.size() + column;
    const auto begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(bytes_).substr(begin, ends_[index] - begin);
}

std::optional<std::size_t> table::find(std::string_view column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    if (found == columns_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns_.begin());
}

void table::add_row(std::span<const std::string> cells, std::size_t line) {
    for (const auto& cell : cells) {
        bytes_ += cell;
        ends_.push_back(bytes_.size());
    }
    lines_.push_back(line);
}

table read_csv(const std::string& path) {
    const auto text = checked_text(read_file(path), path);
    return read_table(text, path, named_delimiter(path).value_or(detect_delimiter(text)));
}

table parse_csv(std::string text, const std::string& file) {
    text = checked_text(std::move(text), file);
    return read_table(text, file, ',');
}

char detect_delimiter(std::string_view text) {
    constexpr std::string_view candidates = ",;\t";
    std::array<std::size_t, candidates.size()> count{};
    bool quoted = false, begun = false;
    for (const char c : text) {
        if (c == '"') {
            quoted = !quoted;
            continue;
        }
        if (c == '\n' && begun && !quoted) break;
        begun = begun || (c != '\n' && c != '\r');
        if (quoted) continue;
        if (const auto which = candidates.find(c); which != std::string_view::npos) ++count[which];
    }
    return candidates[static_cast<std::size_t>(std::max_element(count.begin(), count.end()) - count.begin())];
}

struct csv_stream::state {
    piece_reader pieces;
    std::optional<char> delimiter;
    std::optional<std::vector<std::string>> columns;
};

csv_stream::csv_stream(const std::string& path)
    : state_(new state{piece_reader(path, true), named_delimiter(path), {}}) {}
csv_stream::~csv_stream() = default;

std::optional<table> csv_stream::next() {
    const auto& file = state_->pieces.path();
    while (const auto part = state_->pieces.next()) {
        std::string_view text = part->text;
        auto first = part->line;
        if (first == 1)
            if (const auto said = take_said_delimiter(text)) {
                state_->delimiter = said;
                ++first;
            }
        const auto delimiter = state_->delimiter ? *state_->delimiter : detect_delimiter(text);
        row_reader reader(text, file, delimiter, first);
        if (!state_->columns) {
            if (!reader.next()) continue;  // blank lines alone tell nothing of what ends fields
            state_->delimiter = delimiter;
            state_->columns = read_header(reader, file);
        }
        table out(file, *state_->columns);
        read_rows(reader, out);
        return out;
    }
    if (!state_->columns) refuse(file + ": the file is empty");
    return std::nullopt;
}

char csv_stream::delimiter() const {
    return state_->delimiter.value_or(',');
}

void csv_stream::rewind() {
    state_->pieces.rewind();
    state_->columns.reset();
}

namespace {

std::string trimmed(std::string_view s) {
    const auto first = s.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return std::string(s.substr(first, s.find_last_not_of(" \t") - first + 1));
}

}  // namespace

code_book read_code_book(const std::string& path) {
    return parse_code_book(read_file(path), path);
}

code_book parse_code_book(std::string text, const std::string& file) {
    const auto rows = parse_csv(std::move(text), file);
    if (rows.columns().size() != 2)
        refuse_at(file, 1, fmt::format("a code table has two columns, here are {}", rows.columns().size()));
    code_book out;
    auto* codes = &out[trimmed(rows.columns()[0])];
    bool header = false;  // whether the next row names a new table
    for (std::size_t row = 0; row < rows.rows(); ++row) {
        auto code = trimmed(rows.cell(row, 0));
        auto description = trimmed(rows.cell(row, 1));
        if (code.empty() && description.empty()) {
            header = true;
        } else if (std::exchange(header, false)) {
            if (out.contains(code)) refuse_at(file, rows.line(row), fmt::format("a second table for \"{}\"", code));
            codes = &out[code];
        } else if (!codes->emplace(code, std::move(description)).second) {
            refuse_at(file, rows.line(row), fmt::format("code \"{}\" is there twice", code));
        }
    }
    return out;
}

}  // namespace rldp::data
