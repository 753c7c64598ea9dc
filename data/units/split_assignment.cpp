#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join
#include <sodium.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <tuple>

#include "base/error.hpp"
#include "data/sources/records.hpp"
#include "data/units/corpus.hpp"
#include "data/units/split_and_sampling.hpp"
#include "data/units/split_assignment.hpp"

namespace rldp::data {

namespace {

unsigned compute_level(std::uint64_t hash) {
    return static_cast<unsigned>(std::countl_zero(hash));
}

}  // namespace

void identity_sample::add(std::string_view identity) {
    constexpr std::string_view label = "rldp sketch v1";
    std::array<unsigned char, crypto_generichash_BYTES_MIN> bytes;
    crypto_generichash(bytes.data(), bytes.size(), reinterpret_cast<const unsigned char*>(identity.data()),
                       identity.size(), reinterpret_cast<const unsigned char*>(label.data()), label.size());
    std::uint64_t hash = 0;
    std::memcpy(&hash, bytes.data(), sizeof hash);
    keep(hash);
}

void identity_sample::add(const identity_sample& other) {
    for (const auto hash : other.kept_) keep(hash);
    if (other.level_ <= level_) return;
    level_ = other.level_;  // below it the other has forgotten
    std::erase_if(kept_, [&](auto hash) { return compute_level(hash) < level_; });
}

void identity_sample::keep(std::uint64_t hash) {
    if (compute_level(hash) < level_) return;
    kept_.insert(hash);
    while (kept_.size() > unit_sketch::most) {
        ++level_;
        std::erase_if(kept_, [&](auto each) { return compute_level(each) < level_; });
    }
}

unit_sketch identity_sample::finish() const {
    unit_sketch out{.level = level_, .hashes = {kept_.begin(), kept_.end()}};
    std::sort(out.hashes.begin(), out.hashes.end());
    return out;
}

namespace {

using index_list = std::vector<std::uint32_t>;

/// The numbers below `count`, in the order that `before` says.
template <class Before>
index_list ordered(std::size_t count, Before before) {
    index_list out(count);
    std::iota(out.begin(), out.end(), 0);
    std::sort(out.begin(), out.end(), before);
    return out;
}

/// What the first walk keeps of each record.
struct identities {
    hash_list own;            ///< of the record; with a group, `home` places it and only the id counts
    hash_list home;           ///< of the group, where units are groups
    std::vector<bool> keyed;  ///< else `own` is so far the hash of the content
    unit_sketches sketches;
};

/// The number, from 0, of equal contents that come before each record.
index_list occurrences(const hash_list& contents, const std::vector<bool>& keyed) {
    const auto order = ordered(contents.size(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(contents[a].id, a) < std::pair(contents[b].id, b);
    });
    index_list out(contents.size());
    std::uint64_t last = 0;
    std::uint32_t seen = 0;
    for (const auto i : order) {
        if (keyed[i]) continue;
        if (contents[i].id != last) seen = 0;
        last = contents[i].id;
        out[i] = seen++;
    }
    return out;
}

/// A record without a key is hashed by its row and how many equal rows of its group came before it. Equal rows are
/// interchangeable, so adding or removing a unit changes no other record's hash.
void hash_occurrences(identities& of, const identity_hasher& hash, int threads) {
    if (std::find(of.keyed.begin(), of.keyed.end(), false) == of.keyed.end()) return;
    const auto before = occurrences(of.own, of.keyed);
    in_parallel(threads, of.own.size(), [&](std::size_t, std::size_t i) {
        auto& own = of.own[i];
        if (!of.keyed[i]) own = hash("occurrence", fmt::format("{} {} {}", own.id, own.side, before[i]));
    });
}

/// What one thread samples.
struct samples {
    identity_sample rows, records, groups;

    void add(const record& read) {
        rows.add(read.text);
        if (!read.key.empty()) records.add(read.key);
        if (!read.group.empty()) groups.add(read.group);
    }
};

unit_sketches make_sketches(const std::vector<samples>& of, const std::optional<std::string>& group) {
    samples all;
    for (const auto& one : of) {
        all.rows.add(one.rows);
        all.records.add(one.records);
        all.groups.add(one.groups);
    }
    unit_sketches out{{"rows", all.rows.finish()}};
    if (auto keys = all.records.finish(); !keys.hashes.empty()) out.emplace("record keys", std::move(keys));
    if (group) out.emplace("keys of " + *group, all.groups.finish());
    return out;
}

identities walk_through(record_stream& from, const std::optional<std::string>& group, const identity_hasher& hash,
                        int threads, const on_loading& tell) {
    identities out;
    const bool grouped = group.has_value();
    std::vector<samples> sampled(static_cast<std::size_t>(threads));
    std::vector<unsigned char> keyed;  // of a block: bits of a vector<bool> can't be written by several threads
    std::size_t begin = 0;
    for_each_record(from, threads,
                    {.room =
                         [&](std::size_t count) {
                             if (count >= split_assignment::nowhere)
                                 refuse("the data has more than 4,294,967,294 records");
                             begin = out.own.size();
                             out.own.resize(count);
                             if (grouped) out.home.resize(count);
                             keyed.assign(count - begin, 0);
                         },
                     .work =
                         [&](std::size_t worker, const record_block& block, std::size_t i, std::size_t number) {
                             const auto read = block.identity(i);
                             sampled[worker].add(read);
                             keyed[i] = !read.key.empty();
                             out.own[number] = read.key.empty() ? hash("content", read.group + '\0' + read.text)
                                                                : hash("record", read.key);
                             if (grouped) out.home[number] = hash("group", read.group);
                         },
                     .done =
                         [&] {
                             out.keyed.insert(out.keyed.end(), keyed.begin(), keyed.end());
                             if (tell) tell({"records", std::ssize(out.own), 0, false});
                         }});
    out.sketches = make_sketches(sampled, group);
    return out;
}

std::size_t find_line(record_stream& from, std::size_t number) {
    from.rewind();
    for (auto block = from.next(); block; block = from.next()) {
        if (number < block->size()) return block->line(number);
        number -= block->size();
    }
    return 0;
}

/// Two record keys are one where their hashes are, to 128 bits.
void refuse_repeated_keys(const identities& of, record_stream& from, const source& what) {
    const auto& own = of.own;
    const auto order = ordered(own.size(), [&](std::uint32_t a, std::uint32_t b) {
        return std::tuple(own[a].id, own[a].side, a) < std::tuple(own[b].id, own[b].side, b);
    });
    std::pair<std::uint32_t, std::uint32_t> first{split_assignment::nowhere,
                                                  0};  // the first row that repeats one, and that
    for (std::size_t i = 1; i < order.size(); ++i) {
        const auto a = order[i - 1], b = order[i];
        if (of.keyed[a] && of.keyed[b] && own[a].id == own[b].id && own[a].side == own[b].side && b < first.first)
            first = {b, a};
    }
    if (first.first == split_assignment::nowhere) return;
    refuse_at(what.path, find_line(from, first.first),
              fmt::format("the row's record key stands on line {} already; remove one of the rows",
                          find_line(from, first.second)));
}

/// Units before they have a place: their hashes, and their records one behind the other.
struct gathered {
    hash_list units;
    index_list records, first;  ///< each unit's first record, and the end
};

gathered gather(identities of, std::int64_t max_records) {
    gathered out;
    if (of.home.empty()) {
        out.units = std::move(of.own);
        return out;  // each record a unit: its number is both
    }
    const auto key = [&](std::uint32_t i) { return std::tuple(of.home[i].id, of.home[i].side, of.own[i].id, i); };
    const auto order = ordered(of.own.size(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    for (const auto i : order) {
        const auto& home = of.home[i];
        if (out.units.empty() || out.units.back().id != home.id || out.units.back().side != home.side) {
            out.units.push_back(home);
            out.first.push_back(static_cast<std::uint32_t>(out.records.size()));
        }
        if (static_cast<std::int64_t>(out.records.size()) - out.first.back() < max_records) out.records.push_back(i);
    }
    out.first.push_back(static_cast<std::uint32_t>(out.records.size()));
    return out;
}

/// Gives the units their final order and their records slots.
split_assignment settle(const gathered& from, std::size_t records, const std::vector<placement>& places,
                        std::int64_t canary_length) {
    constexpr std::array<int, 3> rank{0, 1, 2};  // side::train, eval, attack
    const auto side_of = [&](std::uint32_t u) { return rank[static_cast<std::size_t>(places[u].where)]; };
    const auto order = ordered(from.units.size(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(side_of(a), from.units[a].id) < std::pair(side_of(b), from.units[b].id);
    });
    split_assignment out;
    out.slot_of.assign(records, split_assignment::nowhere);
    out.ids.reserve(order.size());
    out.first.reserve(order.size() + 1);
    std::uint32_t slot = 0;
    for (const auto u : order) {
        out.train += places[u].where == side::train ? 1 : 0;
        out.eval += places[u].where == side::eval ? 1 : 0;
        out.ids.push_back(from.units[u].id);
        out.first.push_back(slot);
        if (places[u].canary)
            out.secrets[slot] = from.units[u].secret().substr(0, static_cast<std::size_t>(canary_length));
        if (from.first.empty())
            out.slot_of[u] = slot++;
        else
            for (auto r = from.first[u]; r < from.first[u + 1]; ++r) out.slot_of[from.records[r]] = slot++;
    }
    out.first.push_back(slot);
    return out;
}

/// Units lie by side, and within it by id.
std::string digest_of_split(const split_assignment& all) {
    crypto_generichash_state state;
    crypto_generichash_init(&state, nullptr, 0, crypto_generichash_BYTES);
    for (const std::uint64_t number : {std::uint64_t{all.train}, std::uint64_t{all.eval}})
        crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&number), sizeof number);
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(all.ids.data()),
                              all.ids.size() * sizeof(std::uint64_t));
    std::array<unsigned char, crypto_generichash_BYTES> out;
    crypto_generichash_final(&state, out.data(), out.size());
    return fmt::format("{:02x}", fmt::join(out, ""));
}

}  // namespace

split_assignment assign_splits(record_stream& from, const source& what, const split_rule& split, int threads,
                               const on_loading& tell) {
    const identity_hasher hash(split.seed);
    auto found = walk_through(from, what.group, hash, threads, tell);
    const auto records = found.own.size();
    if (records == 0) refuse(what.path + ": no records; add some");
    refuse_repeated_keys(found, from, what);
    hash_occurrences(found, hash, threads);
    auto sketches = std::move(found.sketches);
    const auto units = gather(std::move(found), split.max_records);
    auto out = settle(units, records, place(units.units, split), split.canary_length);
    if (out.train == 0)
        refuse(fmt::format("{}: of {} unit(s) none is left to train on; add units, or take another data.split_seed",
                           what.path, units.units.size()));
    out.split = digest_of_split(out);
    out.sketches = std::move(sketches);
    return out;
}

namespace {

void plant(const std::string& secret, record& into) {
    const auto end = into.text.size();
    into.text = with_secret(into.text, secret);
    if (!into.answers.empty()) into.answers.push_back({end, into.text.size()});  // or it would not be learned
}

}  // namespace

void read_again(record_stream& from, const source& what, const split_assignment& enrolled, int threads,
                const text_taker& how) {
    const auto changed = [&] { refuse(what.path + ": changed while it was read; start again when it is at rest"); };
    std::size_t records = 0;
    for_each_record(from, threads,
                    {.room =
                         [&](std::size_t count) {
                             if (count > enrolled.slot_of.size()) changed();
                             records = count;
                         },
                     .work =
                         [&](std::size_t worker, const record_block& block, std::size_t i, std::size_t number) {
                             auto rendered = block.at(i);
                             how.inspect(rendered);
                             const auto slot = enrolled.slot_of[number];
                             if (slot == split_assignment::nowhere) return;
                             const auto secret = enrolled.secrets.find(slot);
                             if (secret != enrolled.secrets.end()) plant(secret->second, rendered);
                             how.take(worker, slot, std::move(rendered), block.line(i));
                         },
                     .done = [&] { how.done(records); }});
    if (records != enrolled.slot_of.size()) changed();
}

}  // namespace rldp::data
