#pragma once
// The rows of a table as they are given, without a template.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/sources/tables.hpp"

namespace rldp::data {

/// A table's rows block by block, whatever its kind.
class table_rows {
  public:
    virtual ~table_rows() = default;
    /// The next rows; nothing at the end.
    virtual std::optional<table> next() = 0;
    /// Begins again with the same file.
    virtual void rewind() = 0;
};

/// Of .csv, .tsv, JSON lines with columns, packed or not, or "synthetic:N". Errors: bad_input, also for plain text.
std::unique_ptr<table_rows> open_table(const std::string& path);

/// Who a row without a key is: its columns in the order of their names, each with its value's length, so that other
/// cells give other bytes. What is empty is left out: an empty column more is no other row.
class row_identity {
  public:
    /// Keeps a reference.
    explicit row_identity(const table& rows);
    std::string operator()(std::size_t row) const;

  private:
    const table& rows_;
    std::vector<std::size_t> by_name_;
};

}  // namespace rldp::data
