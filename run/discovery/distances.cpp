#include "run/discovery/distances.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "config/config.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::actors {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// What the run says of its table.
struct described_table {
    data::row_template how;
    counting_contract contract;
};

described_table describe_table(const distances_request& asked) {
    const auto run = eval::run_at(asked.run);
    if (!fs::exists(run.config())) refuse(asked.run.string() + ": is no run's directory");
    if (!fs::exists(run.row_template()))
        refuse(asked.run.string() + ": its template declared no schema, so nothing says what columns there are");
    const auto config = config::load(run.config(), {});
    described_table out{.how = data::parse_template(read_text(run.row_template()), run.row_template().string()),
                        .contract = asked.contract};
    if (!out.how.schema) refuse(run.row_template().string() + ": has no schema");
    if (config.privacy.unit_is_group) {
        out.contract.person = config.privacy.unit;
        out.contract.rows_per_person = config.privacy.max_records_per_unit;
    }
    if (out.contract.book.empty() && config.privacy.book) out.contract.book = *config.privacy.book;
    return out;
}

/// A column that is counted, and where it stands in both tables.
struct counted_column {
    const data::column_schema* what;
    eval::column_places places;
    std::size_t in_data, in_made_up;
};

std::size_t find_column(const std::vector<std::string>& columns, const std::string& name, const std::string& path) {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end())
        refuse(fmt::format("{}: has no column \"{}\"; there are {}", path, name, fmt::join(columns, ", ")));
    return static_cast<std::size_t>(found - columns.begin());
}

std::vector<const data::column_schema*> choose_columns(const distances_request& asked, const data::row_template& how,
                                                       std::vector<std::string>& left_out) {
    std::vector<const data::column_schema*> out;
    for (const auto& name : asked.columns)
        if (std::none_of(how.schema->begin(), how.schema->end(), [&](const auto& one) { return one.name == name; }))
            refuse(fmt::format("--column {}: {} has no such column", name, how.file));
    for (const auto& column : *how.schema) {
        const bool named = std::find(asked.columns.begin(), asked.columns.end(), column.name) != asked.columns.end();
        if (!asked.columns.empty() && !named) continue;
        if (eval::column_places::has(column.type)) {
            out.push_back(&column);
            continue;
        }
        if (named) refuse(fmt::format("--column {}: no list or range says what values it has", column.name));
        left_out.push_back(column.name);
    }
    if (out.empty()) refuse(how.file + ": no column has a list or a range of values, so there is nothing to count");
    return out;
}

/// Lists are those of single columns, then those of pairs (i, j), i < j.
template <class Use>
void for_each_pair(std::size_t columns, const Use& use) {
    for (std::size_t i = 0; i < columns; ++i)
        for (std::size_t j = i + 1; j < columns; ++j) use(i, j);
}

/// The places of a row in all lists.
void place_row(const std::vector<std::size_t>& single, const std::vector<counted_column>& columns, const auto& use) {
    for (std::size_t i = 0; i < single.size(); ++i) use(i, single[i]);
    std::size_t list = single.size();
    for_each_pair(single.size(),
                  [&](auto i, auto j) { use(list++, single[i] * columns[j].places.size() + single[j]); });
}

std::vector<privacy::counted_list> make_lists(const std::vector<counted_column>& columns) {
    std::vector<privacy::counted_list> out;
    for (const auto& column : columns) out.push_back({.places = column.places.size()});
    for_each_pair(columns.size(), [&](auto i, auto j) {
        out.push_back({.places = columns[i].places.size() * columns[j].places.size()});
    });
    for (auto& list : out) list.share = 1 / static_cast<double>(out.size());
    return out;
}

std::vector<std::vector<double>> count_made_up(const std::string& path, const std::vector<counted_column>& columns) {
    std::vector<std::vector<double>> out;
    for (const auto& list : make_lists(columns)) out.emplace_back(list.places);
    const auto from = data::open_table(path);
    std::vector<std::size_t> single(columns.size());
    std::size_t number = 0;
    while (const auto block = from->next())
        for (std::size_t row = 0; row < block->rows(); ++row, ++number) {
            for (std::size_t i = 0; i < columns.size(); ++i)
                single[i] = columns[i].places.find(block->cell(row, columns[i].in_made_up));
            place_row(single, columns, [&](auto list, auto place) { ++out[list][place]; });
        }
    if (number == 0) refuse(path + ": no rows; make some");
    return out;
}

/// Each list's counts add up to the number of units, with noise: the mean of all, weighted by what that leaves of it.
std::pair<double, double> count_units(const privacy::noised_counts& counts) {
    double sum = 0, weights = 0;
    for (const auto& list : counts.lists) {
        const double weight = 1 / (list.deviation * list.deviation * static_cast<double>(list.places.size()));
        sum += weight * std::accumulate(list.places.begin(), list.places.end(), 0.0);
        weights += weight;
    }
    return {sum / weights, 1 / std::sqrt(weights)};
}

ordered_json write_distances(const std::vector<table_distances::of_columns>& all) {
    auto out = ordered_json::array();
    for (const auto& [first, second, distance] : all) {
        out.push_back({{"column", first}});
        if (!second.empty()) out.back()["with"] = second;
        out.back().update({{"distance", distance.estimate}, {"low", distance.low}, {"high", distance.high}});
    }
    return out;
}

std::string write_report(const table_distances& made, const distances_request& asked, const counting_contract& contract,
                         const privacy::counts_price& price) {
    return ordered_json{{"what",
                         "total variation distance of counts of units; low and high hold it with 95 % each, for the "
                         "noise alone"},
                        {"made_up", without_directory(asked.made_up)},
                        {"side", "all units of the private table, whether trained on or held out"},
                        {"unit", contract.unit()},
                        {"rows_per_unit", contract.rows()},
                        {"epsilon", contract.epsilon},
                        {"delta", contract.delta},
                        {"noise_multiplier", price.noise_multiplier},
                        {"lists", made.single.size() + made.pairs.size()},
                        {"units", made.units},
                        {"units_deviation", made.units_deviation},
                        {"columns", write_distances(made.single)},
                        {"pairs", write_distances(made.pairs)},
                        {"left_out", made.left_out}}
               .dump(2) +
           "\n";
}

}  // namespace

table_distances measure_distances(const distances_request& asked) {
    if (!asked.out.empty() && fs::exists(asked.out) && !asked.overwrite)
        refuse(asked.out.string() + ": exists already; choose another name with --out, or overwrite it with --force");
    const auto described = describe_table(asked);
    const auto& [how, contract] = described;
    const auto price = privacy::price_counts(contract.epsilon, contract.delta, false);
    table_distances out;
    out.unit = contract.unit();
    const auto chosen = choose_columns(asked, how, out.left_out);
    const auto in_data = read_columns(asked.data), in_made_up = read_columns(asked.made_up);
    check_unit(asked.data, in_data, contract.person, !contract.person);
    std::vector<counted_column> columns;
    for (const auto* column : chosen)
        columns.push_back({column, eval::column_places(how, *column), find_column(in_data, column->name, asked.data),
                           find_column(in_made_up, column->name, asked.made_up)});
    const auto made_up = count_made_up(asked.made_up, columns);
    std::vector<std::size_t> single(columns.size());
    out.counted = count_table(asked.data, in_data, how, contract, "distances of " + without_directory(asked.made_up),
                              make_lists(columns), [&](const data::table& rows, std::size_t row, auto at) {
                                  for (std::size_t i = 0; i < columns.size(); ++i)
                                      single[i] = columns[i].places.find(rows.cell(row, columns[i].in_data));
                                  place_row(single, columns, [&](auto list, auto place) { at[list] = place; });
                              });
    const auto& lists = out.counted.counts.lists;
    std::tie(out.units, out.units_deviation) = count_units(out.counted.counts);
    // A table's number within its own noise says nothing: every interval is then the whole.
    const double units = std::max({out.units, out.units_deviation, 1.0});
    const auto compare = [&](std::size_t list) {
        return eval::compute_distance({.counts = lists[list].places,
                                       .deviation = lists[list].deviation,
                                       .units = units,
                                       .units_deviation = out.units_deviation},
                                      made_up[list]);
    };
    for (std::size_t i = 0; i < columns.size(); ++i) out.single.push_back({columns[i].what->name, "", compare(i)});
    for_each_pair(columns.size(), [&](auto i, auto j) {
        out.pairs.push_back({columns[i].what->name, columns[j].what->name, compare(columns.size() + out.pairs.size())});
    });
    out.written = write_report(out, asked, contract, price);
    return out;
}

}  // namespace rldp::actors
