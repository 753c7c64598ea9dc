#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "data/sources/column_names.hpp"
#include "data/sources/json_lines.hpp"
#include "data/sources/made_up_rows.hpp"
#include "data/sources/narrative.hpp"
#include "data/sources/records.hpp"
#include "data/sources/synthetic.hpp"
#include "data/sources/table_rows.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

namespace {

struct failure {
    std::size_t index = 0;
    std::exception_ptr reason;
};

}  // namespace

void in_parallel(int threads, std::size_t count, const std::function<void(std::size_t, std::size_t)>& work) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::vector<failure> failed(static_cast<std::size_t>(threads));
    const auto run = [&](std::size_t worker) noexcept {
        while (!stop) {
            const auto index = next++;
            if (index >= count) return;
            try {
                work(worker, index);
            } catch (...) {
                failed[worker] = {index, std::current_exception()};
                stop = true;
            }
        }
    };
    {
        std::vector<std::jthread> running;
        for (std::size_t worker = 1; worker < failed.size(); ++worker) running.emplace_back(run, worker);
        run(0);
    }
    // Taken in order, so the first failing one was tried in any case: report that one.
    failure first{count, nullptr};
    for (const auto& one : failed)
        if (one.reason && one.index < first.index) first = one;
    if (first.reason) std::rethrow_exception(first.reason);
}

namespace {

/// Values of a key column; each must be there.
class key_column {
  public:
    key_column(const table& rows, const row_template& how, const std::string& name)
        : rows_(rows), how_(how), name_(name) {
        const auto found = rows.find(name_);
        if (!found) refuse_at(rows.file(), 1, fmt::format("column \"{}\" is missing; it is a key", name_));
        column_ = *found;
    }

    std::string operator()(std::size_t row) const {
        const auto value = rows_.cell(row, column_);
        if (how_.missing.contains(value))
            refuse_at(rows_.file(), rows_.line(row),
                      fmt::format("the key \"{}\" is missing; give the row one or remove it", name_));
        return std::string(value);
    }

  private:
    const table& rows_;
    const row_template& how_;
    const std::string& name_;
    std::size_t column_ = 0;
};

/// How the rows of a table become records.
struct reading {
    row_template how;
    std::optional<code_book> codes;
    std::optional<std::string> group;
};

class table_block : public record_block {
  public:
    table_block(table rows, std::shared_ptr<const reading> read)
        : read_(std::move(read)),
          rows_(std::move(rows)),
          identify_(rows_),
          narrate_(read_->how, rows_, read_->codes ? &*read_->codes : nullptr) {
        if (read_->how.record) record_key_.emplace(rows_, read_->how, *read_->how.record);
        if (read_->group) group_key_.emplace(rows_, read_->how, *read_->group);
    }

    std::size_t size() const override { return rows_.rows(); }
    record at(std::size_t i) const override {
        auto out = keys(i);
        out.text = narrate_(i, &out.clauses);
        return out;
    }
    record identity(std::size_t i) const override {
        auto out = keys(i);
        out.text = identify_(i);
        return out;
    }
    std::size_t line(std::size_t i) const override { return rows_.line(i); }
    const table* rows() const override { return &rows_; }

  private:
    record keys(std::size_t i) const {
        return {{}, record_key_ ? (*record_key_)(i) : std::string(), group_key_ ? (*group_key_)(i) : std::string()};
    }

    std::shared_ptr<const reading> read_;
    table rows_;
    row_identity identify_;
    row_renderer narrate_;
    std::optional<key_column> record_key_, group_key_;
};

std::shared_ptr<const reading> load_reading(const source& from) {
    if (!from.narrative)
        refuse(from.path +
               ": a table needs data.template, the JSON file that turns rows into prose "
               "(config/narrative-uci.json for the UCI table)");
    auto out = std::make_shared<reading>();
    out->how = read_template(*from.narrative);
    out->codes = load_code_book(from);
    out->group = from.group;
    return out;
}

/// `Rows` gives tables.
template <class Rows>
class table_stream : public record_stream {
  public:
    table_stream(const source& from, std::shared_ptr<const reading> read, std::unique_ptr<Rows> rows)
        : path_(from.path), read_(std::move(read)), rows_(std::move(rows)) {}

    std::shared_ptr<const record_block> next() override {
        auto made = take(*rows_);
        if (made) columns_ = made->columns();
        return made ? std::make_shared<table_block>(std::move(*made), read_) : nullptr;
    }
    std::vector<std::string> columns() const override { return columns_; }
    void rewind() override { rows_->rewind(); }

    std::vector<std::string> warnings() const override {
        std::vector<std::string> out;
        // Said of every such table: whether a person does repeat depends on the rows, and warnings are public.
        if (!read_->group && read_->how.person)
            out.push_back(
                fmt::format("\"{0}\" may repeat in {1}: the guarantee is for a record, not for a person; "
                            "privacy.unit {{\"group\": \"{0}\"}} protects persons",
                            *read_->how.person, path_));
        const auto& columns = read_->how.columns;
        if (!read_->codes && std::any_of(columns.begin(), columns.end(),
                                         [](const auto& column) { return column.second.codes.has_value(); }))
            out.push_back(path_ + ": no IDs_mapping.csv, so codes stay numbers; set data.ids_mapping");
        add_identifiers(out);
        return out;
    }

  private:
    /// Columns whose names are identifiers'. By names alone, for warnings are public.
    void add_identifiers(std::vector<std::string>& warnings) const {
        const auto& how = read_->how;
        for (const auto& name : columns_) {
            const auto named = read_->codes && read_->codes->contains(name) ? naming::nothing : classify_name(name);
            if (named == naming::nothing || name == how.person || name == read_->group) continue;
            if (named == naming::person && !read_->group && !how.person)
                warnings.push_back(
                    fmt::format("{1}: by its name, column \"{0}\" says whose a record is, and each record is protected "
                                "by itself, so who has several is protected less; privacy.unit {{\"group\": \"{0}\"}} "
                                "protects persons",
                                name, path_));
            if (how.tells_values_of(name))
                warnings.push_back(
                    fmt::format("{}: column \"{}\" is told, and by its name it identifies: a model can "
                                "learn its values by heart; list it under leave_out of data.template",
                                path_, name));
        }
    }
    static std::optional<table> take(csv_stream& from) { return from.next(); }
    static std::optional<table> take(json_table_stream& from) { return from.next(); }
    static std::optional<table> take(synthetic_stream& from) { return from.next(4096); }
    static std::optional<table> take(made_up_stream& from) { return from.next(4096); }

    std::string path_;
    std::shared_ptr<const reading> read_;
    std::unique_ptr<Rows> rows_;
    std::vector<std::string> columns_;
};

/// What a line of a file becomes; with `raw`, how it was given, too.
using line_reader = std::function<record(const text_line& line, const std::string& file, std::string* raw)>;

class line_block : public record_block {
  public:
    line_block(piece text, std::string file, line_reader read)
        : text_(std::move(text)),
          lines_(split_lines(text_.text, text_.line)),
          file_(std::move(file)),
          read_(std::move(read)) {}
    line_block(const line_block&) = delete;  // lines point into the text
    line_block& operator=(const line_block&) = delete;

    std::size_t size() const override { return lines_.size(); }
    record at(std::size_t i) const override { return read_(lines_[i], file_, nullptr); }
    record identity(std::size_t i) const override {
        std::string raw;
        auto out = read_(lines_[i], file_, &raw);
        out.text = std::move(raw);
        return out;
    }
    std::size_t line(std::size_t i) const override { return lines_[i].number; }

  private:
    piece text_;
    std::vector<text_line> lines_;
    std::string file_;
    line_reader read_;
};

class line_stream : public record_stream {
  public:
    line_stream(const std::string& path, line_reader read) : pieces_(path, false), read_(std::move(read)) {}

    std::shared_ptr<const record_block> next() override {
        auto part = pieces_.next();
        return part ? std::make_shared<line_block>(std::move(*part), pieces_.path(), read_) : nullptr;
    }
    void rewind() override { pieces_.rewind(); }

  private:
    piece_reader pieces_;
    line_reader read_;
};

line_reader make_line_reader(const source& from, bool json) {
    if (from.chat)
        return [group = from.group, chat = from.chat](const auto& line, const auto& file, auto* raw) {
            return parse_chat_line(line, group, *chat, file, raw);
        };
    if (json)
        return [group = from.group](const auto& line, const auto& file, auto* raw) {
            return parse_json_line(line, group, file, raw);
        };
    return [](const auto& line, const auto&, auto* raw) {
        if (raw) *raw = line.text;
        return record{std::string(line.text), {}, {}};
    };
}

}  // namespace

data_kind kind_of_data(const std::string& path) {
    if (is_piped(path)) return data_kind::json_lines;
    const auto extension = name_of_file(path).extension;
    if (extension == ".csv" || extension == ".tsv") return data_kind::table;
    if (extension == ".jsonl" || extension == ".ndjson") return data_kind::json_lines;
    if (extension == ".txt") return data_kind::text;
    if (extension == ".parquet" || extension == ".arrow" || extension == ".feather")
        refuse(fmt::format("{}: Parquet and Arrow come through a pipe: {}", path, through_pipe(path)));
    if (extension == ".xlsx") refuse(fmt::format("{}: sheets come through a pipe: {}", path, through_pipe(path)));
    if (std::filesystem::exists(path)) unpacked_file{path};  // which knows many kinds by how they begin
    if (extension == ".xls" || extension == ".ods")
        refuse(path + ": spreadsheets are not read; save the sheet as .csv");
    refuse(path +
           ": unknown kind of data; name it .csv, .tsv, .jsonl or .txt (.gz or .zst behind that where it is packed), "
           "or ask for synthetic:N");
}

std::unique_ptr<record_stream> open_records(const source& from) {
    if (from.chat && (is_made_up(from.path) || kind_of_data(from.path) != data_kind::json_lines))
        refuse(from.path + ": data.chat asks for JSON lines, each with \"messages\"; give a .jsonl file");
    if (const auto made_up = parse_synthetic(from.path)) {
        auto read = load_reading(from);
        return std::make_unique<table_stream<synthetic_stream>>(
            from, read, std::make_unique<synthetic_stream>(*made_up, from.made_up_seed));
    }
    if (const auto rows = parse_template_rows(from.path)) {
        auto read = load_reading(from);
        const auto* codes = read->codes ? &*read->codes : nullptr;
        return std::make_unique<table_stream<made_up_stream>>(
            from, read, std::make_unique<made_up_stream>(read->how, codes, *rows, from.made_up_seed));
    }
    const auto kind = kind_of_data(from.path);
    if (kind == data_kind::table) {
        auto read = load_reading(from);
        return std::make_unique<table_stream<csv_stream>>(from, read, std::make_unique<csv_stream>(from.path));
    }
    const bool json = kind == data_kind::json_lines;
    if (json && from.narrative)
        return std::make_unique<table_stream<json_table_stream>>(from, load_reading(from),
                                                                 std::make_unique<json_table_stream>(from.path));
    if (from.narrative) refuse(from.path + ": plain text has no columns for data.template; remove it");
    if (!json && from.group)
        refuse(from.path + ": plain text has no key columns; set privacy.unit to \"record\", or use .csv or .jsonl");
    return std::make_unique<line_stream>(from.path, make_line_reader(from, json));
}

void read_table_rows(const std::string& path, const std::function<void(const table& rows)>& use) {
    const auto each = [&](auto&& from) {
        while (const auto block = from.next()) use(*block);
    };
    const auto kind = kind_of_data(path);
    if (kind == data_kind::text) refuse(path + ": is no table; give a .csv, .tsv or .jsonl file");
    if (kind == data_kind::table)
        each(csv_stream(path));
    else
        each(json_table_stream(path));
}

std::optional<std::string> find_code_book_path(const source& from) {
    if (from.ids_mapping || is_piped(from.path)) return from.ids_mapping;
    const auto beside = std::filesystem::path(from.path).replace_filename("IDs_mapping.csv");
    return std::filesystem::exists(beside) ? std::optional(beside.string()) : std::nullopt;
}

std::optional<code_book> load_code_book(const source& from) {
    auto table = from;
    if (is_of_template(from.path)) table.path = from.table;
    if (is_synthetic(table.path) && !from.ids_mapping) return synthetic_code_book();
    if (table.path.empty() && !from.ids_mapping) return std::nullopt;
    const auto path = find_code_book_path(table);
    return path ? std::optional(read_code_book(*path)) : std::nullopt;
}

void for_each_record(record_stream& from, int threads, const record_walk& walk) {
    from.rewind();
    std::size_t before = 0;
    auto block = from.next();
    while (block) {
        auto ahead = std::async(std::launch::async, [&] { return from.next(); });
        walk.room(before + block->size());
        in_parallel(threads, block->size(),
                    [&](std::size_t worker, std::size_t i) { walk.work(worker, *block, i, before + i); });
        walk.done();
        before += block->size();
        block = ahead.get();
    }
}

}  // namespace rldp::data
