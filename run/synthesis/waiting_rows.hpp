#pragma once
// Rows of a table that is not whole yet, in a file of JSON lines: first what they depend on, then a row each.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"

namespace rldp::actors {

class waiting_rows {
  public:
    /// With `resume` those that an earlier call left, without a line that was cut. Errors: bad_input where rows wait
    /// that are not asked for, none that are, or those of another `depends_on`, a line; storage_error.
    waiting_rows(std::filesystem::path path, const std::string& depends_on, bool resume);

    std::int64_t rows() const { return rows_; }
    /// Errors: storage_error; what is whole stays for another call.
    void add(const std::vector<std::vector<std::string>>& rows);
    /// The first `rows` of them, in order.
    void each(std::int64_t rows, const std::function<void(const std::vector<std::string>&)>& use) const;

  private:
    std::uintmax_t count_whole(const std::string& depends_on);

    std::filesystem::path path_;
    std::optional<append_file> file_;
    std::int64_t rows_ = 0;
};

}  // namespace rldp::actors
