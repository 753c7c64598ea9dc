#include "run/discovery/discovery.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/files.hpp"
#include "data/sources/made_up_rows.hpp"
#include "data/sources/schema.hpp"
#include "data/sources/text.hpp"

namespace rldp::actors {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr double stands_out = 4;  // deviations, of one bucket among many

/// The request, checked, and the template that it will fill in.
struct prepared_request {
    std::vector<data::open_column> columns;
    std::vector<std::string> names;  ///< of the table
    ordered_json document;           ///< the template, with a schema that names all its columns
    data::row_template how;          ///< as it is so far
    counting_contract contract;
};

/// Whether a column of a schema has a domain.
bool is_declared(const ordered_json& column) {
    return std::any_of(column.items().begin(), column.items().end(),
                       [](const auto& item) { return item.key() != "column" && item.key() != "required"; });
}

void check_column(const data::open_column& column, const prepared_request& so_far, const std::string& place) {
    const auto& names = so_far.names;
    if (std::find(names.begin(), names.end(), column.name) == names.end())
        refuse(fmt::format("--type {}: no such column; there are {}", column.name, fmt::join(names, ", ")));
    if (!so_far.how.tells(column.name))
        refuse(fmt::format("--type {}: {} does not tell that column, so no made-up row has it", column.name, place));
    for (const auto& one : so_far.document.at("schema"))
        if (one.at("column") == column.name && is_declared(one))
            refuse(fmt::format("--type {}: {} declares its domain already; remove it there to have one found",
                               column.name, place));
}

void check_out(const discovery_request& asked) {
    if (asked.out.empty())
        refuse("where to? --template FILE has the schema filled in there, --out FILE writes another");
    const bool same = asked.table_template && fs::exists(asked.out) && fs::equivalent(asked.out, *asked.table_template);
    if (!same && fs::exists(asked.out) && !asked.overwrite)
        refuse(asked.out.string() + ": exists already; choose another name with --out, or overwrite it with --force");
    const auto parent = fs::absolute(asked.out).parent_path();
    if (!fs::is_directory(parent)) refuse(parent.string() + ": no such directory; make it first");
}

prepared_request prepare(const discovery_request& asked) {
    prepared_request out;
    out.contract = asked.contract;
    if (asked.types.empty())
        refuse("which columns? --type COLUMN=KIND says of what kind one is, such as --type cut=category");
    std::set<std::string> seen;
    for (const auto& said : asked.types) {
        out.columns.push_back(data::read_open_column(said));
        if (!seen.insert(out.columns.back().name).second)
            refuse(fmt::format("--type {}: the column has a type already", said));
    }
    check_out(asked);
    const auto place = asked.table_template ? asked.table_template->string() : std::string("the schema");
    const auto text = asked.table_template ? read_text(*asked.table_template) : std::string("{}");
    out.how = data::parse_template(text, place);
    out.document = ordered_json::parse(text);
    out.names = read_columns(asked.data);
    if (!asked.contract.person && !asked.each_record) out.contract.person = out.how.person;
    check_unit(asked.data, out.names, out.contract.person, asked.each_record);
    auto& schema = out.document["schema"];
    if (schema.is_null())
        for (const auto& name : out.names)
            if (out.how.tells(name) && name != out.contract.person) schema.push_back({{"column", name}});
    for (const auto& column : out.columns) check_column(column, out, place);
    data::parse_template(out.document.dump(), place);  // a schema may be what the template can't have
    return out;
}

/// Of a column's lists: its grid's levels, and where they are open, its decimals. All columns have equal parts, and all
/// lists of one.
std::size_t count_lists(const data::open_column& column) {
    return column.has_grid() ? column.where().levels() + (column.finds_decimals() ? 1 : 0) : 1;
}

std::vector<privacy::counted_list> make_lists(const std::vector<data::open_column>& columns) {
    std::vector<privacy::counted_list> out;
    for (const auto& column : columns) {
        const double share = 1 / static_cast<double>(columns.size() * count_lists(column));
        if (!column.has_grid()) {
            out.push_back({.places = 0, .share = share});
            continue;
        }
        for (std::size_t level = 0; level < column.where().levels(); ++level)
            out.push_back({.places = column.where().size(level), .share = share});
        if (column.finds_decimals()) out.push_back({.places = data::most_decimals + 1, .share = share});
    }
    return out;
}

/// How a column's cells are read.
struct open_cells {
    const data::open_column& what;
    bool decimal_comma = false;
    std::size_t number = 0;  ///< of the table's columns
};

/// Fills in the column's lists; the number of them.
std::size_t place_cell(std::string_view cell, const open_cells& column, std::span<privacy::row_place> at) {
    const auto lists = count_lists(column.what);
    if (!column.what.has_grid()) {
        at[0] = cell;
        return lists;
    }
    const auto pointed = column.decimal_comma ? data::with_decimal_point(cell) : std::nullopt;
    const auto value = data::read_open_value(pointed ? std::string_view(*pointed) : cell, column.what);
    if (!value) return lists;
    std::copy(value->place.begin(), value->place.end(), at.begin());
    if (column.what.finds_decimals()) at[value->place.size()] = value->decimals;
    return lists;
}

row_reader make_reader(const prepared_request& of) {
    std::vector<open_cells> columns;
    for (const auto& column : of.columns) {
        const auto rule = of.how.columns.find(column.name);
        const auto number = std::find(of.names.begin(), of.names.end(), column.name) - of.names.begin();
        columns.push_back(
            {column, rule != of.how.columns.end() && rule->second.decimal_comma, static_cast<std::size_t>(number)});
    }
    return [columns, &how = of.how](const data::table& rows, std::size_t row, std::span<privacy::row_place> at) {
        for (const auto& column : columns) {
            const auto cell = rows.cell(row, column.number);
            const bool missing = cell.empty() || how.missing.contains(cell);
            const auto lists = missing ? count_lists(column.what) : place_cell(cell, column, at);
            at = at.subspan(lists);
        }
    };
}

std::string too_few() {
    return "nothing stands out of the noise; declare it by hand, or ask for less at once";
}

/// The schema's entry, or why there is none.
struct found_domain {
    std::optional<ordered_json> entry;
    std::string why = {};
};

found_domain read_domain(const data::open_column& column, std::span<const privacy::noised_counts::list> lists) try {
    if (!column.has_grid()) {
        std::vector<std::string> values;
        for (const auto& [value, count] : lists[0].found) values.push_back(value);
        if (values.empty()) return {{}, too_few()};
        return {data::write_categories(column, values), {}};
    }
    std::vector<data::noised_level> levels;
    for (std::size_t level = 0; level < column.where().levels(); ++level)
        levels.push_back({lists[level].places, lists[level].deviation});
    const auto ends = data::find_ends(column.where(), levels);
    if (!ends) return {{}, too_few()};
    std::optional<std::size_t> decimals;
    if (column.finds_decimals()) {
        const auto& counts = lists[levels.size()];
        for (std::size_t i = 0; i < counts.places.size(); ++i)
            if (counts.places[i] >= stands_out * counts.deviation) decimals = i;
        if (!decimals) return {{}, too_few()};
    }
    return {data::write_range(column, *ends, decimals), {}};
} catch (const error& unfit) {
    return {{}, unfit.what()};
}

void fill_in(ordered_json& schema, const ordered_json& entry) {
    for (auto& one : schema)
        if (one.at("column") == entry.at("column")) one.update(entry);
}

}  // namespace

discovery_plan plan_discovery(const discovery_request& asked) {
    const auto ready = prepare(asked);
    const auto lists = make_lists(ready.columns);
    const auto open = std::count_if(lists.begin(), lists.end(), [](const auto& one) { return one.places == 0; });
    const auto& contract = ready.contract;
    discovery_plan out{.columns = {},
                       .price = privacy::price_counts(contract.epsilon, contract.delta, open > 0),
                       .unit = contract.unit()};
    std::size_t at = 0;
    for (const auto& column : ready.columns) {
        const double deviation = privacy::count_deviation(out.price, lists[at].share);
        const double needed = column.has_grid()
                                  ? stands_out * deviation
                                  : privacy::selection_threshold(deviation, contract.rows(),
                                                                 out.price.selection_delta / static_cast<double>(open));
        out.columns.push_back({column, deviation, needed});
        at += count_lists(column);
    }
    return out;
}

discovery discover(const discovery_request& asked) {
    auto ready = prepare(asked);
    discovery out;
    out.counted = count_table(asked.data, ready.names, ready.how, ready.contract,
                              "domains for " + fs::absolute(asked.out).lexically_normal().string(),
                              make_lists(ready.columns), make_reader(ready));
    std::span<const privacy::noised_counts::list> lists(out.counted.counts.lists);
    for (const auto& column : ready.columns) {
        auto domain = read_domain(column, lists.first(count_lists(column)));
        lists = lists.subspan(count_lists(column));
        if (domain.entry) {
            fill_in(ready.document["schema"], *domain.entry);
            out.written = ready.document.dump(2) + "\n";
            domain.entry->erase("column");
            const auto braced = domain.entry->dump();
            domain.why = braced.substr(1, braced.size() - 2);
        }
        out.columns.push_back({column.name, std::move(domain.why), domain.entry.has_value()});
    }
    if (std::ranges::all_of(ready.document["schema"], is_declared))
        out.teaching =
            fmt::format("--set public.path={} --set public.steps={}", data::proposed_rows, data::proposed_batches);
    return out;
}

}  // namespace rldp::actors
