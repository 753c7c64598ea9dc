#include "data/corpus.hpp"

#include <fmt/ranges.h>  // fmt::join
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "config/error.hpp"
#include "data/canary.hpp"
#include "data/narrative.hpp"
#include "data/split.hpp"
#include "data/synthetic.hpp"
#include "data/text.hpp"

namespace rldp::data {

namespace {

struct loaded {
    std::vector<record> records;
    std::vector<std::string> warnings;
};

/// Values of a key column; each must be there.
class key_column {
  public:
    key_column(const table& rows, const narrative_template& how, std::string name)
        : rows_(rows), how_(how), name_(std::move(name)) {
        const auto found = rows.find(name_);
        if (!found) refuse_at(rows.file(), 1, fmt::format("column \"{}\" is missing; it is a key", name_));
        column_ = *found;
    }

    std::string_view operator()(std::size_t row) const {
        const auto value = rows_.cell(row, column_);
        if (how_.missing.contains(value))
            refuse_at(rows_.file(), rows_.line(row),
                      fmt::format("the key \"{}\" is missing; give the row one or remove it", name_));
        return value;
    }

  private:
    const table& rows_;
    const narrative_template& how_;
    std::string name_;
    std::size_t column_ = 0;
};

void check_record_keys(const table& rows, const key_column& key) {
    std::unordered_map<std::string_view, std::size_t> lines;
    for (std::size_t row = 0; row < rows.rows(); ++row)
        if (const auto [first, fresh] = lines.emplace(key(row), rows.line(row)); !fresh)
            refuse_at(
                rows.file(), rows.line(row),
                fmt::format("the row's record key stands on line {} already; remove one of the rows", first->second));
}

loaded verbalise(const table& rows, const narrative_template& how, const code_book* codes,
                 const std::optional<std::string>& group) {
    loaded out;
    const narrator narrate(how, rows, codes);
    std::optional<key_column> record_key, group_key;
    if (how.record) check_record_keys(rows, record_key.emplace(rows, how, *how.record));
    if (group) group_key.emplace(rows, how, *group);
    out.records.resize(rows.rows());
    for (std::size_t row = 0; row < rows.rows(); ++row) {
        out.records[row].text = narrate(row);
        if (record_key) out.records[row].key = (*record_key)(row);
        if (group_key) out.records[row].group = (*group_key)(row);
    }
    // Said of every such table: whether a person does repeat depends on the rows, and warnings are public.
    if (!group && how.person)
        out.warnings.push_back(
            fmt::format("\"{0}\" may repeat in {1}: the guarantee is for a record, not for a person; "
                        "privacy.unit {{\"group\": \"{0}\"}} protects persons",
                        *how.person, rows.file()));
    return out;
}

/// The code book that `from` names, or IDs_mapping.csv beside the table, or none.
std::optional<code_book> find_code_book(const source& from) {
    if (from.ids_mapping) return read_code_book(*from.ids_mapping);
    const auto beside = std::filesystem::path(from.path).replace_filename("IDs_mapping.csv");
    if (std::filesystem::exists(beside)) return read_code_book(beside.string());
    return std::nullopt;
}

loaded load_table(const source& from, const std::optional<std::int64_t>& synthetic) {
    if (!from.narrative)
        refuse(from.path +
               ": a table needs data.template, the JSON file that turns rows into prose "
               "(config/narrative-uci.json for the UCI table)");
    const auto how = read_template(*from.narrative);
    const auto rows = synthetic ? synthetic_table(*synthetic) : read_csv(from.path);
    const auto codes = synthetic && !from.ids_mapping ? std::optional(synthetic_code_book()) : find_code_book(from);
    auto out = verbalise(rows, how, codes ? &*codes : nullptr, from.group);
    const bool wants_codes = std::any_of(how.columns.begin(), how.columns.end(),
                                         [](const auto& column) { return column.second.codes.has_value(); });
    if (wants_codes && !codes)
        out.warnings.push_back(from.path + ": no IDs_mapping.csv, so codes stay numbers; set data.ids_mapping");
    return out;
}

loaded load_records(const source& from) {
    if (const auto n = synthetic_size(from.path)) return load_table(from, n);
    auto extension = std::filesystem::path(from.path).extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (extension == ".csv") return load_table(from, std::nullopt);
    if (from.narrative) refuse(from.path + ": data.template serves CSV tables only; remove it");
    if (extension == ".jsonl" || extension == ".ndjson") return {read_jsonl(from.path, from.group), {}};
    if (extension != ".txt")
        refuse(from.path + ": unknown kind of data; name it .csv, .jsonl or .txt, or ask for synthetic:N");
    if (from.group)
        refuse(from.path + ": plain text has no key columns; set privacy.unit to \"record\", or use .csv or .jsonl");
    return {read_lines(from.path), {}};
}

/// A unit with the hash that places it.
struct hashed_unit {
    identity_hash hash;
    std::vector<std::pair<std::uint64_t, std::string>> records;  ///< by their own hash
};

/// The hash of a record: of its key, or of its text and how many equal texts of its group came before it. Equal texts
/// are interchangeable, so adding or removing a unit changes no other record's hash.
class record_hasher {
  public:
    explicit record_hasher(const identity_hasher& hash) : hash_(hash) {}

    identity_hash operator()(const record& of) {
        if (!of.key.empty()) return hash_("record", of.key);
        const auto content = hash_("content", of.group + '\0' + of.text);
        return hash_("occurrence", fmt::format("{} {} {}", content.id, content.side, seen_[content.id]++));
    }

  private:
    const identity_hasher& hash_;
    std::unordered_map<std::uint64_t, std::size_t> seen_;
};

std::vector<hashed_unit> gather(std::vector<record> records, bool grouped, std::int64_t seed,
                                std::int64_t max_records) {
    const identity_hasher hash(seed);
    record_hasher hash_record(hash);
    std::vector<hashed_unit> units;
    std::unordered_map<std::string, std::size_t> by_group;
    for (auto& r : records) {
        const auto own = hash_record(r);
        const auto [at, fresh] = by_group.try_emplace(r.group, units.size());
        if (!grouped || fresh) units.push_back({grouped ? hash("group", r.group) : own, {}});
        auto& home = grouped ? units[at->second] : units.back();
        home.records.emplace_back(own.id, std::move(r.text));
    }
    for (auto& u : units) {
        std::sort(u.records.begin(), u.records.end());
        if (std::ssize(u.records) > max_records) u.records.resize(static_cast<std::size_t>(max_records));
    }
    return units;
}

/// `secret`: how many characters of the one it would carry; 0 for none.
unit finish(hashed_unit from, std::int64_t secret) {
    unit out{from.hash.id, {}, std::nullopt};
    for (auto& [order, text] : from.records) out.records.push_back(std::move(text));
    if (secret > 0) {
        out.canary = from.hash.secret.substr(0, static_cast<std::size_t>(secret));
        out.records.front() = with_secret(out.records.front(), *out.canary);
    }
    return out;
}

void absorb(crypto_hash_sha256_state& state, std::string_view bytes) {
    crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

/// Every unit is preceded by its number of records, every record by its length, so no two corpora share their bytes.
std::string digest_of(const std::vector<unit>& units) {
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    for (const auto& u : units) {
        absorb(state, fmt::format("{}:", u.records.size()));
        for (const auto& text : u.records) {
            absorb(state, fmt::format("{}:", text.size()));
            absorb(state, text);
        }
    }
    std::array<unsigned char, crypto_hash_sha256_BYTES> bytes{};
    crypto_hash_sha256_final(&state, bytes.data());
    return fmt::format("{:02x}", fmt::join(bytes, ""));
}

void sort_by_id(std::vector<unit>& units) {
    std::sort(units.begin(), units.end(), [](const unit& a, const unit& b) { return a.id < b.id; });
}

}  // namespace

void settle(corpus& of) {
    sort_by_id(of.train);
    of.digest = digest_of(of.train);
}

corpus load_corpus(const source& from, const split_rule& split) {
    auto input = load_records(from);
    auto units = gather(std::move(input.records), from.group.has_value(), split.seed, split.max_records);
    if (units.empty()) refuse(from.path + ": no records; add some");
    std::vector<identity_hash> hashes;
    for (const auto& u : units) hashes.push_back(u.hash);
    const auto places = place(hashes, split);
    corpus out;
    out.warnings = std::move(input.warnings);
    for (std::size_t i = 0; i < units.size(); ++i) {
        auto& home = places[i].where == side::train ? out.train : places[i].where == side::eval ? out.eval : out.attack;
        home.push_back(finish(std::move(units[i]), places[i].canary ? split.canary_length : 0));
    }
    if (out.train.empty())
        refuse(fmt::format("{}: of {} unit(s) none is left to train on; add units, or take another data.split_seed",
                           from.path, units.size()));
    sort_by_id(out.eval);
    sort_by_id(out.attack);
    settle(out);
    if (out.eval.empty()) out.warnings.push_back(from.path + ": no unit fell to Eval, so perplexity can't be measured");
    return out;
}

}  // namespace rldp::data
