#include "run/discovery/counted_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "data/sources/column_names.hpp"
#include "data/units/split_assignment.hpp"
#include "privacy/counts/row_choice.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/spending/book_search.hpp"
#include "privacy/spending/counts_charge.hpp"

namespace rldp::actors {

namespace {

/// What the first pass finds.
struct known_units {
    unit_sketches sketches;
    std::vector<std::uint16_t> rows_of_unit;  ///< of each row, how many of its unit's count; empty: each is a unit
    std::size_t rows = 0;
};

[[noreturn]] void refuse_changed(const std::string& path) {
    refuse(path + ": changed while it was read; start again when it is at rest");
}

std::size_t find_key(const data::table& rows, const std::string& name) {
    const auto found = rows.find(name);
    if (!found) data::refuse_at(rows.file(), 1, fmt::format("column \"{}\" is missing; it is a key", name));
    return *found;
}

std::string_view key_of(const data::table& rows, std::size_t row, std::size_t column, const data::row_template& how) {
    const auto key = rows.cell(row, column);
    if (key.empty() || how.missing.contains(key))
        data::refuse_at(
            rows.file(), rows.line(row),
            fmt::format("the key \"{}\" is missing; give the row one or remove it", rows.columns()[column]));
    return key;
}

/// The same samples as a run's of this table, so that both find one book.
known_units find_units(data::table_rows& from, const std::vector<std::string>& columns, const data::row_template& how,
                       const counting_contract& contract, const privacy::run_key& key) {
    data::identity_sample rows, records, persons;
    privacy::row_choice choice(contract.rows(), key);
    known_units out;
    while (const auto block = from.next()) {
        if (block->columns() != columns) refuse_changed(block->file());
        const data::row_identity identify(*block);
        const auto person = contract.person ? std::optional(find_key(*block, *contract.person)) : std::nullopt;
        const auto record = how.record ? std::optional(find_key(*block, *how.record)) : std::nullopt;
        for (std::size_t row = 0; row < block->rows(); ++row) {
            rows.add(identify(row));
            if (record) records.add(key_of(*block, row, *record, how));
            if (!person) continue;
            const auto unit = key_of(*block, row, *person, how);
            persons.add(unit);
            choice.see(unit);
        }
        out.rows += block->rows();
    }
    out.sketches.emplace("rows", rows.finish());
    if (how.record) out.sketches.emplace("record keys", records.finish());
    if (contract.person) {
        out.sketches.emplace("keys of " + *contract.person, persons.finish());
        out.rows_of_unit = choice.finish();
    }
    return out;
}

void count_rows(data::table_rows& from, const known_units& units, const std::string& path, std::size_t lists,
                const row_reader& read, privacy::unit_counts& into) {
    from.rewind();
    std::vector<privacy::row_place> at;
    std::size_t number = 0;
    while (const auto block = from.next()) {
        if (number + block->rows() > units.rows) refuse_changed(path);
        for (std::size_t row = 0; row < block->rows(); ++row, ++number) {
            const int of_unit = units.rows_of_unit.empty() ? 1 : units.rows_of_unit[number];
            if (of_unit == 0) continue;
            at.assign(lists, {});
            read(*block, row, at);
            into.add(at, of_unit);
        }
    }
    if (number != units.rows) refuse_changed(path);
}

/// Of made-up tables none is kept.
std::optional<std::filesystem::path> find_book(const std::string& path, const counting_contract& contract,
                                               const unit_sketches& sketches) {
    const auto named = make_book_name(bare_name(path));
    const auto& asked = contract.book.empty() ? named : contract.book;
    if (asked == no_book || is_synthetic(path)) return std::nullopt;
    if (!is_book_path(asked) && !is_book_name(asked) && asked != found_book)
        refuse(
            fmt::format("--book {}: a name has letters, digits, '.', '_' and '-' and begins with a letter or digit, a "
                        "path has a '/'",
                        asked));
    return privacy::find_book({.asked = asked, .name = named, .sketches = sketches, .started = {}}).directory;
}

}  // namespace

std::vector<std::string> read_columns(const std::string& path) {
    const auto first = data::open_table(path)->next();
    if (!first) refuse(path + ": no records; add some");
    return first->columns();
}

void check_unit(const std::string& path, const std::vector<std::string>& columns,
                const std::optional<std::string>& person, bool each_record) {
    const auto has = [&](const std::string& name) {
        return std::find(columns.begin(), columns.end(), name) != columns.end();
    };
    if (person && each_record)
        refuse("--record protects each record by itself, --person all of one person's; give one of them");
    if (person && !has(*person))
        refuse(fmt::format("--person {}: no such column; there are {}", *person, fmt::join(columns, ", ")));
    if (person || each_record) return;
    for (const auto& name : columns)
        if (data::classify_name(name) == data::naming::person)
            refuse(fmt::format(
                "{}: whose is a record? By its name, column {} may say it: --person {} protects all records "
                "of one person together, --record each by itself",
                path, name, name));
}

counted_table count_table(const std::string& path, const std::vector<std::string>& columns,
                          const data::row_template& how, const counting_contract& contract, const std::string& what,
                          std::vector<privacy::counted_list> lists, const row_reader& read) {
    const auto key = privacy::run_key::from_system();
    const auto from = data::open_table(path);
    const auto units = find_units(*from, columns, how, contract, key);
    if (units.rows == 0) refuse(path + ": no records; add some");
    const bool selects = std::any_of(lists.begin(), lists.end(), [](const auto& one) { return one.places == 0; });
    const auto size = lists.size();
    privacy::unit_counts sums(std::move(lists), contract.rows());
    count_rows(*from, units, path, size, read, sums);
    const privacy::counts_claim claim{.what = what,
                                      .unit = contract.unit(),
                                      .epsilon = contract.epsilon,
                                      .delta = contract.delta,
                                      .selects = selects,
                                      .sketches = units.sketches};
    counted_table out;
    const auto book = find_book(path, contract, units.sketches);
    const auto charged = book ? privacy::enter_counts(*book, claim) : privacy::charge_without_book(claim);
    out.counts = sums.finish(charged, key);
    if (!book) return out;
    out.book = *book;
    out.found_by_data = contract.book == found_book;
    for (const auto& sum : privacy::compute_sums(privacy::read_book(*book)))
        if (sum.unit == claim.unit) out.totals.push_back(sum);
    return out;
}

}  // namespace rldp::actors
