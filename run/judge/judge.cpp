#include "run/judge/judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "config/config.hpp"
#include "config/spec.hpp"
#include "data/sources/narrative.hpp"
#include "data/sources/records.hpp"
#include "data/sources/table_rules.hpp"
#include "data/units/corpus.hpp"
#include "data/units/load_tokens.hpp"
#include "data/units/split_assignment.hpp"
#include "eval/tables/classifier.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/artifacts/membership.hpp"
#include "run/inputs.hpp"

namespace rldp::actors {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_units = 20'000;    ///< of either side, whose rows are kept
constexpr std::size_t most_made_up = 100'000;  ///< rows that are kept

/// A row's cells, by the schema's columns: equal where the rows are told alike.
using told_row = std::vector<std::optional<std::string>>;

/// Rows as they become numbers.
class row_encoder {
  public:
    row_encoder(const data::row_template& how, const data::code_book* codes) : how_(how) {
        for (const auto& column : *how.schema) {
            names_.push_back(column.name);
            const auto& reader = readers_.emplace(column.name, data::cell_reader(how, column, codes)).first->second;
            by_column_.push_back(&reader);
            constexpr std::array kinds{eval::value_kind::number, eval::value_kind::category, eval::value_kind::text};
            columns_.push_back({column.name, kinds.at(static_cast<std::size_t>(reader.kind())), {}});
        }
        numbers_.resize(columns_.size());
    }

    const std::vector<std::string>& names() const { return names_; }
    const std::vector<eval::value_column>& columns() const { return columns_; }
    const std::map<std::string, data::cell_reader, std::less<>>& readers() const { return readers_; }

    told_row tell(const std::function<std::string_view(std::size_t column)>& cell) const {
        told_row out;
        out.reserve(by_column_.size());
        for (std::size_t c = 0; c < by_column_.size(); ++c) out.push_back(by_column_[c]->word(cell(c)));
        return out;
    }
    double number(std::size_t column, const std::optional<std::string>& told) {
        if (!told) return eval::missing_value;
        if (columns_[column].kind == eval::value_kind::number) {
            double value = 0;
            const auto* end = told->data() + told->size();
            return std::from_chars(told->data(), end, value).ptr == end ? value : eval::missing_value;
        }
        auto& words = columns_[column].words;
        const auto [at, fresh] = numbers_[column].emplace(*told, words.size());
        if (fresh) words.push_back(*told);
        return static_cast<double>(at->second);
    }
    eval::value_table encode(const std::vector<const told_row*>& rows) {
        eval::value_table out(columns_.size());
        for (const auto* row : rows)
            for (std::size_t c = 0; c < out.size(); ++c) out[c].push_back(number(c, (*row)[c]));
        return out;
    }

  private:
    const data::row_template& how_;
    std::vector<std::string> names_;
    std::map<std::string, data::cell_reader, std::less<>> readers_;
    std::vector<const data::cell_reader*> by_column_;
    std::vector<eval::value_column> columns_;
    std::vector<std::unordered_map<std::string, std::size_t>> numbers_;
};

std::uint64_t hash_row(const told_row& row) {
    std::string all;
    for (const auto& cell : row) all += cell ? fmt::format("{}:{}", cell->size(), *cell) : "-";
    const auto digest = data::compute_digest(all);
    std::uint64_t out = 0;
    std::memcpy(&out, digest.data(), sizeof out);
    return out;
}

/// Counts rules, of rows that are made up or real.
class rule_counts {
  public:
    rule_counts(const std::vector<data::table_rule>& rules, const row_encoder& rows) {
        for (const auto& rule : rules) {
            checks_.emplace_back(rule, rows.names(), rows.readers());
            found_.push_back({.rule = rule.text, .made_up = {}, .real = {}});
        }
    }
    void add(const std::function<std::string_view(std::size_t)>& cell, bool made_up) {
        for (std::size_t i = 0; i < checks_.size(); ++i) {
            const auto kept = checks_[i](cell);
            auto& count = made_up ? found_[i].made_up : found_[i].real;
            count.asked += kept == data::kept::not_asked ? 0 : 1;
            count.broken += kept == data::kept::no ? 1 : 0;
        }
    }
    std::vector<eval::rule_quality> found() const { return found_; }

  private:
    std::vector<data::rule_check> checks_;
    std::vector<eval::rule_quality> found_;
};

/// Looks for secrets in cells: runs of [A-Z0-9], in any place of one.
class secret_finder {
  public:
    void add(const std::string& secret, bool planted) {
        lengths_.insert(secret.size());
        secrets_.emplace(secret, planted);
    }
    void look_into(std::string_view cell) {
        for (const auto length : lengths_)
            for (std::size_t at = 0; at + length <= cell.size(); ++at)
                if (const auto found = secrets_.find(std::string(cell.substr(at, length))); found != secrets_.end())
                    found_.insert(found->first);
    }
    std::optional<eval::secret_search> result() const {
        eval::secret_search out;
        for (const auto& [secret, planted] : secrets_) {
            ++(planted ? out.planted : out.made_up);
            if (found_.contains(secret)) ++(planted ? out.found : out.made_up_found);
        }
        return out.planted == 0 ? std::nullopt : std::optional(out);
    }

  private:
    std::set<std::size_t> lengths_;
    std::unordered_map<std::string, bool> secrets_;
    std::unordered_set<std::string> found_;
};

secret_finder list_secrets(const config::reading_spec& spec, const eval::membership_record& who) {
    constexpr std::int64_t controls = 1000;
    secret_finder out;
    std::set<std::int64_t> lengths;
    const auto add = [&](const std::string& secret, bool planted) {
        lengths.insert(std::ssize(secret));
        out.add(secret, planted);
    };
    for (const auto& one : who.planted) add(one.secret, true);
    const auto canaries = data::make_audit_canaries(spec.data.split_seed, std::ssize(who.canary_in));
    for (std::size_t i = 0; i < canaries.size(); ++i) add(*canaries[i].canary, who.canary_in[i]);
    for (const auto length : lengths)
        for (const auto& one : data::make_secrets(spec.data.split_seed, "in no record", controls, length))
            out.add(one, false);
    return out;
}

// Both tables.

/// Where the schema's columns stand in a table; its cells by them.
class column_places {
  public:
    column_places(const data::table& rows, const std::vector<std::string>& names) : rows_(rows) {
        for (const auto& name : names) {
            const auto found = rows.find(name);
            if (!found)
                refuse(fmt::format("{}: has no column \"{}\"; its columns must be {}", rows.file(), name,
                                   fmt::join(names, ", ")));
            places_.push_back(*found);
        }
    }
    std::function<std::string_view(std::size_t)> row(std::size_t number) const {
        return [this, number](std::size_t column) { return rows_.cell(number, places_[column]); };
    }

  private:
    const data::table& rows_;
    std::vector<std::size_t> places_;
};

struct read_made_up {
    std::vector<told_row> rows;  ///< of chance, in an order of chance
    std::size_t count = 0;
    std::vector<std::uint64_t> hashes;  ///< of all rows
};

/// A made-up key, "person", may stand beside the schema's columns.
void check_columns(const data::table& rows, const std::vector<std::string>& names) {
    for (const auto& column : rows.columns())
        if (column != "person" && std::find(names.begin(), names.end(), column) == names.end())
            refuse(fmt::format("{}: column \"{}\" is not in the run's schema; its columns must be {}", rows.file(),
                               column, fmt::join(names, ", ")));
}

read_made_up read_table(const fs::path& path, const row_encoder& rows, rule_counts& rules, secret_finder& secrets) {
    read_made_up out;
    std::mt19937_64 random(1);  // the same rows each time
    data::read_table_rows(path.string(), [&](const data::table& block) {
        check_columns(block, rows.names());
        const column_places places(block, rows.names());
        for (std::size_t i = 0; i < block.rows(); ++i) {
            const auto cell = places.row(i);
            for (std::size_t c = 0; c < rows.names().size(); ++c) secrets.look_into(cell(c));
            rules.add(cell, true);
            auto told = rows.tell(cell);
            out.hashes.push_back(hash_row(told));
            ++out.count;
            // A row of chance goes behind, and one beyond the most takes its place (Vitter 1985, algorithm R).
            const auto at = random() % out.count;
            if (out.rows.size() < most_made_up) {
                out.rows.push_back(std::move(told));
                std::swap(out.rows.back(), out.rows[at]);
            } else if (at < most_made_up) {
                out.rows[at] = std::move(told);
            }
        }
    });
    if (out.count == 0) refuse(path.string() + ": has no rows");
    return out;
}

/// A row that is kept, and by what it is ordered: units by their keyed hashes.
struct kept_row {
    std::uint64_t unit = 0;
    std::uint32_t slot = 0;
    told_row cells;
};

struct real_side {
    std::vector<kept_row> kept;
    std::size_t rows = 0, units = 0;
    std::vector<std::uint64_t> hashes;  ///< of all rows
};

struct real_sides {
    real_side training, held_out;
};

real_sides read_records(const config::reading_spec& spec, int threads, const row_encoder& rows, rule_counts& rules) {
    const auto from = private_source(spec);
    const auto records = data::open_records(from);
    const auto all = data::assign_splits(*records, from, make_training_split(spec), threads);
    real_sides out;
    out.training.units = all.train;
    out.held_out.units = all.units() - all.train;
    const auto share = [](const real_side& of) {
        return data::share_of_held_out(most_units, static_cast<double>(of.units));
    };
    const auto add = [&](std::uint32_t slot, const std::function<std::string_view(std::size_t)>& cell) {
        const auto after = std::upper_bound(all.first.begin(), all.first.end(), slot);
        const auto unit = all.ids[static_cast<std::size_t>(after - all.first.begin() - 1)];
        auto& side = slot < all.train_slots() ? out.training : out.held_out;
        auto told = rows.tell(cell);
        side.hashes.push_back(hash_row(told));
        ++side.rows;
        rules.add(cell, false);
        if (data::is_looked_at(unit, share(side))) side.kept.push_back({unit, slot, std::move(told)});
    };
    std::unique_ptr<const column_places> places;
    const data::record_block* of = nullptr;
    data::for_each_record(
        *records, 1, {.work = [&](std::size_t, const data::record_block& block, std::size_t i, std::size_t number) {
            if (of != &block || i == 0) places = std::make_unique<const column_places>(*block.rows(), rows.names());
            of = &block;
            if (const auto slot = all.slot_of.at(number); slot != data::split_assignment::nowhere)
                add(slot, places->row(i));
        }});
    for (auto* side : {&out.training, &out.held_out})
        std::sort(side->kept.begin(), side->kept.end(),
                  [](const auto& a, const auto& b) { return std::pair(a.unit, a.slot) < std::pair(b.unit, b.slot); });
    return out;
}

eval::real_rows encode(row_encoder& rows, const real_side& from) {
    std::vector<const told_row*> told;
    eval::real_rows out;
    for (const auto& one : from.kept) {
        told.push_back(&one.cells);
        out.unit.push_back(one.unit);
    }
    out.values = rows.encode(told);
    return out;
}

std::size_t count_in(const std::vector<std::uint64_t>& hashes, const std::unordered_set<std::uint64_t>& in) {
    return static_cast<std::size_t>(
        std::count_if(hashes.begin(), hashes.end(), [&](auto one) { return in.contains(one); }));
}

eval::row_counts count_identical(const read_made_up& made_up, const real_sides& real) {
    const auto as_set = [](const std::vector<std::uint64_t>& of) {
        return std::unordered_set<std::uint64_t>(of.begin(), of.end());
    };
    const auto own = as_set(made_up.hashes), training = as_set(real.training.hashes),
               held_out = as_set(real.held_out.hashes);
    return {.training = real.training.rows,
            .held_out = real.held_out.rows,
            .made_up = made_up.count,
            .training_found = count_in(real.training.hashes, own),
            .held_out_found = count_in(real.held_out.hashes, own),
            .made_up_in_training = count_in(made_up.hashes, training),
            .made_up_held_out = count_in(made_up.hashes, held_out)};
}

// The run.

struct owned_run {
    eval::run_directory where;
    config::reading_spec spec;
    eval::membership_record who;
    data::row_template how;
    std::optional<data::code_book> codes;
};

owned_run open_owned(const fs::path& path) {
    owned_run out{.where = eval::run_at(path), .spec = {}, .who = {}, .how = {}, .codes = {}};
    if (!fs::exists(out.where.ledger())) refuse(path.string() + ": holds no run (public/ledger.jsonl is missing)");
    if (const auto obstacle = find_obstacle(path); !obstacle.empty()) refuse(path.string() + ": " + obstacle);
    out.spec = config::to_reading_spec(eval::read_configuration(out.where));
    if (!out.spec.data.narrative) refuse(path.string() + ": its records were no table with a template");
    out.how = data::read_template(*out.spec.data.narrative);
    if (!out.how.schema) refuse(*out.spec.data.narrative + ": declares no schema; add one (docs/synthetic.md)");
    out.who = eval::read_membership(out.where.membership());
    if (eval::data_hmac(out.who.salt, load_audit_pool(out.spec).digest) != out.who.data_hmac)
        refuse(
            fmt::format("{}: the run was trained on other records than data.path {} gives now; bring back the "
                        "original data",
                        out.where.membership().string(), out.spec.data.path));
    out.codes = data::load_code_book(private_source(out.spec));
    return out;
}

void ask_questions(const data::row_template& how, const row_encoder& rows, eval::judged_tables& of) {
    const auto place = [&](const std::string& name) {
        return static_cast<std::size_t>(std::find(rows.names().begin(), rows.names().end(), name) -
                                        rows.names().begin());
    };
    for (const auto& name : how.sensitive) of.sensitive.push_back(place(name));
    if (how.target) of.target = place(*how.target);
}

}  // namespace

std::string find_obstacle(const fs::path& run) {
    const auto where = eval::run_at(run);
    std::error_code hidden;
    if (!fs::exists(where.membership(), hidden))
        return "trusted/ is not here; a report reads real records, so it is for the owner of the data";
    if (is_piped(config::load(where.config(), {}).data.path))
        return "its records came through a pipe and are gone; a report reads them again";
    return {};
}

eval::table_report judge_table(const judge_request& asked) {
    using clock = std::chrono::steady_clock;
    const auto begun = clock::now();
    const auto run = open_owned(asked.run);
    row_encoder rows(run.how, run.codes ? &*run.codes : nullptr);
    rule_counts rules(run.how.rules, rows);
    auto secrets = list_secrets(run.spec, run.who);
    const auto made_up = read_table(asked.table, rows, rules, secrets);
    const auto real = read_records(run.spec, asked.threads, rows, rules);
    if (real.held_out.kept.empty())
        refuse(run.spec.data.path +
               ": no record was held out, so nothing tells what the table gives away of those that were trained on; "
               "give more records");

    eval::judged_tables tables;
    std::vector<const told_row*> told;
    for (const auto& row : made_up.rows) told.push_back(&row);
    tables.made_up = rows.encode(told);
    tables.training = encode(rows, real.training);
    tables.held_out = encode(rows, real.held_out);
    tables.columns = rows.columns();
    ask_questions(run.how, rows, tables);

    const auto header = privacy::read_ledger(run.where.ledger()).header;
    eval::table_report out{.run = run.where.root.string(),
                           .table = asked.table.string(),
                           .claimed_epsilon = header.guarantee().holds() ? header.epsilon_guaranteed
                                                                         : std::numeric_limits<double>::infinity(),
                           .delta = header.delta,
                           .training_rows = real.training.rows,
                           .held_out_rows = real.held_out.rows,
                           .made_up_rows = made_up.count,
                           .training_units = real.training.units,
                           .held_out_units = real.held_out.units,
                           .groups = run.spec.group.has_value(),
                           .found = eval::judge(tables, asked.threads)};
    out.found.rules = rules.found();
    out.found.identical = count_identical(made_up, real);
    out.found.secrets = secrets.result();
    out.found.target = eval::judge_target(tables, out.found.left_out);
    if (run.how.rules.empty())
        out.found.left_out.emplace_back("rules: the template has no \"rules\"; list what every row keeps");
    if (run.how.sensitive.empty())
        out.found.left_out.emplace_back(
            "attribute inference: the template has no \"sensitive\"; list the columns that nobody shall tell of "
            "somebody");
    if (!out.found.secrets)
        out.found.left_out.emplace_back("planted secrets: the run has none; train with data.canaries 10");
    out.seconds = std::chrono::duration<double>(clock::now() - begun).count();
    return out;
}

fs::path write_table_report(const fs::path& run, const eval::table_report& report) {
    const auto where = eval::run_at(run);
    write_file(where.table_json(), eval::table_json(report), 0600);
    write_file(where.table_page(), eval::table_html(report), 0600);
    return where.table_page();
}

}  // namespace rldp::actors
