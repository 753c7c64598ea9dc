#pragma once
// JSON lines as a table, for templates: an object per line, a column per key.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/sources/csv.hpp"

namespace rldp::data {

/// Reads a file a piece at a time. Columns are the keys of the first piece's objects, in their order; a key that an
/// object lacks is an empty cell, as is null. Lists of words or numbers are joined by commas. Errors: bad_input naming
/// the line of what is no object, of an object inside it, and of a key that first appears beyond the first piece.
class json_table_stream {
  public:
    /// `beside`: columns are only what stands beside a text or a conversation, texts and numbers; all else is not read.
    explicit json_table_stream(const std::string& path, bool beside = false);
    ~json_table_stream();
    json_table_stream(const json_table_stream&) = delete;
    json_table_stream& operator=(const json_table_stream&) = delete;

    /// The next rows; nothing at the end.
    std::optional<table> next();
    void rewind();

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace rldp::data
