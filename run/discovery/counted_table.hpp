#pragma once
// A private table that is counted over all its units: who they are, their budget book, and the counts with noise.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/sources/narrative.hpp"
#include "data/sources/table_rows.hpp"
#include "privacy/counts/unit_counts.hpp"
#include "privacy/spending/book.hpp"

namespace rldp::actors {

/// Whose table it is, and what may be spent on it.
struct counting_contract {
    double epsilon = 0, delta = 1e-6;
    std::optional<std::string> person;  ///< column of the unit; absent: each record
    std::int64_t rows_per_person = 16;  ///< the most that count of a person's rows
    std::string book;                   ///< as privacy.book; empty: by the file's name, as rldp init proposes

    std::string unit() const { return person.value_or("record"); }
    std::int64_t rows() const { return person ? rows_per_person : 1; }
};

/// Says where a row stands in each list.
using row_reader = std::function<void(const data::table& rows, std::size_t row, std::span<privacy::row_place> at)>;

struct counted_table {
    privacy::noised_counts counts;
    std::filesystem::path book;             ///< empty where none was kept
    bool found_by_data = false;             ///< so that which book it is tells of the records
    std::vector<privacy::book_sum> totals;  ///< of the book's entries of this unit, this one included
};

/// Names of the columns. Errors: bad_input.
std::vector<std::string> read_columns(const std::string& path);

/// Errors: bad_input for a column that is not there, and, where by its name some column says whose a record is, and
/// neither --person nor `each_record` does.
void check_unit(const std::string& path, const std::vector<std::string>& columns,
                const std::optional<std::string>& person, bool each_record);

/// Counts all units of the table, whose columns are those, enters `what` in the book, and only then adds noise. Errors:
/// bad_input for a row without a key, and where a total would be exceeded; nothing is released then.
counted_table count_table(const std::string& path, const std::vector<std::string>& columns,
                          const data::row_template& how, const counting_contract& contract, const std::string& what,
                          std::vector<privacy::counted_list> lists, const row_reader& read);

}  // namespace rldp::actors
