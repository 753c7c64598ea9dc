#pragma once
// The records of a source, and the work of several threads on them.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/chat/chat_template.hpp"
#include "data/sources/tables.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

// Threads. The same work on many things by several of them.

/// work(worker, index) for every index below `count`, `worker` below `threads`. Errors: what the first failing index
/// threw, whatever the threads' timing; those behind it may not be tried.
void in_parallel(int threads, std::size_t count, const std::function<void(std::size_t, std::size_t)>& work);

// Sources. The records of one, whatever its kind, block by block in the source's order, so that they never lie in
// memory all at once.

struct source {        ///< where the records come from; see config::data_section
    std::string path;  ///< CSV, TSV, JSONL, text, packed or not, "synthetic:N", "synthetic:N@WORLD" or "template:N"
    std::optional<std::string> ids_mapping;
    std::optional<std::string> narrative;  ///< path of the template
    std::optional<std::string> group;      ///< key column of the unit; absent: every record is a unit
    std::uint64_t made_up_seed = 1;        ///< which made-up table
    std::string table = {};                ///< of "template:N": the path of the table that has the same codes
    /// Of JSON lines that hold conversations: how the model writes them.
    std::shared_ptr<const chat_template> chat = {};
};

/// Some records. Safe to call from several threads. Errors: bad_input naming the line.
class record_block {
  public:
    virtual ~record_block() = default;
    virtual std::size_t size() const = 0;
    virtual record at(std::size_t i) const = 0;
    /// Who the record is: its keys and, in place of the text, its row or line as it was given. That depends neither on
    /// a template nor on a model, nor on how a table's file is written.
    virtual record identity(std::size_t i) const = 0;
    /// Where the record stands in its file.
    virtual std::size_t line(std::size_t i) const = 0;
    /// The table that the records are rows of; null of text.
    virtual const table* rows() const { return nullptr; }
};

class record_stream {
  public:
    virtual ~record_stream() = default;
    /// The next block; null at the end.
    virtual std::shared_ptr<const record_block> next() = 0;
    /// Begins again.
    virtual void rewind() = 0;
    virtual std::vector<std::string> warnings() const { return {}; }
    /// Names of the table's columns, once a block of it was read; none of text.
    virtual std::vector<std::string> columns() const { return {}; }
};

enum class data_kind : std::uint8_t { table, json_lines, text };
/// By the file's name. Errors: bad_input for any other, naming what the file is where that can be told.
data_kind kind_of_data(const std::string& path);

/// The format follows the file's name. Errors: bad_input.
std::unique_ptr<record_stream> open_records(const source& from);

/// The rows of a table's file, block by block, as they are. Errors: bad_input, also for a name of another kind.
void read_table_rows(const std::string& path, const std::function<void(const table& rows)>& use);

/// The code book that `from` names, or IDs_mapping.csv beside the table; none where that is not there.
std::optional<std::string> find_code_book_path(const source& from);

/// It, read; of made-up encounters their own.
std::optional<code_book> load_code_book(const source& from);

// Walks. Through a source: the next block is made while several threads work on the records of one.

struct record_walk {
    /// Called before the records of a block are worked on, with the number of records up to its end.
    std::function<void(std::size_t count)> room = [](std::size_t) {};
    /// Called for every record, by several threads: the i-th of its block, the number-th of the source.
    std::function<void(std::size_t worker, const record_block& block, std::size_t i, std::size_t number)> work;
    /// Called when a block is done.
    std::function<void()> done = [] {};
};

/// Begins at the source's start. Errors: what the first failing record threw.
void for_each_record(record_stream& from, int threads, const record_walk& walk);

}  // namespace rldp::data
