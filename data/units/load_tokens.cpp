#include "data/units/load_tokens.hpp"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "data/units/corpus.hpp"
#include "data/units/split_and_sampling.hpp"
#include "data/units/split_assignment.hpp"

namespace rldp::data {

namespace {

/// The first slots of units `begin` to `end`, counted from the first of them.
std::vector<std::uint32_t> first_slots(const split_assignment& all, std::uint32_t begin, std::uint32_t end) {
    std::vector<std::uint32_t> out(all.first.begin() + begin, all.first.begin() + end + 1);
    for (auto& slot : out) slot -= all.first[begin];
    return out;
}

std::vector<std::pair<std::uint64_t, std::string>> planted_in(const split_assignment& all) {
    std::vector<std::pair<std::uint64_t, std::string>> out;
    for (std::uint32_t u = 0; u < all.train; ++u)
        if (const auto secret = all.secrets.find(all.first[u]); secret != all.secrets.end())
            out.emplace_back(all.ids[u], secret->second);
    return out;
}

/// Which of the Eval side's slots are kept, and where: those of the units that may be looked at, in their order.
std::unordered_map<std::uint32_t, std::size_t> held_out_places(const split_assignment& all, double share,
                                                               std::vector<held_out_record>& kept) {
    std::unordered_map<std::uint32_t, std::size_t> places;
    for (auto u = all.train; u < all.train + all.eval; ++u) {
        if (!is_looked_at(all.ids[u], share)) continue;
        for (auto slot = all.first[u]; slot < all.first[u + 1]; ++slot) {
            places[slot] = kept.size();
            kept.push_back({.unit = all.ids[u], .tokens = {}, .rendered = {}, .cut = false});
        }
    }
    return places;
}

/// Where the texts of audited units go, by their slots.
using text_places = std::unordered_map<std::uint32_t, std::pair<unit*, std::size_t>>;

text_places audited_places(const split_assignment& all, std::int64_t targets, audited_units& kept) {
    text_places places;
    std::vector<std::uint32_t> carriers, members, non_members;
    for (std::uint32_t u = 0; u < all.train; ++u) {
        if (all.secrets.contains(all.first[u]))
            carriers.push_back(u);
        else if (std::ssize(members) < targets)
            members.push_back(u);
    }
    for (auto u = all.train + all.eval; u < all.units() && std::ssize(non_members) < targets; ++u)
        non_members.push_back(u);
    const auto make = [&](const std::vector<std::uint32_t>& numbers, std::vector<unit>& units) {
        units.resize(numbers.size());
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const auto first = all.first[numbers[i]], end = all.first[numbers[i] + 1];
            auto& one = units[i];
            one.id = all.ids[numbers[i]];
            one.records.resize(end - first);
            if (const auto secret = all.secrets.find(first); secret != all.secrets.end()) one.canary = secret->second;
            for (auto slot = first; slot < end; ++slot) places[slot] = {&one, slot - first};
        }
    };
    make(carriers, kept.carriers);
    make(members, kept.members);
    make(non_members, kept.non_members);
    return places;
}

/// What the audit needs of a record, if it is one of its.
void keep_text(const text_places& places, std::uint32_t slot, const record& rendered, std::size_t line) {
    const auto found = places.find(slot);
    if (found == places.end()) return;
    const auto [unit, number] = found->second;
    unit->records[number] = rendered.text;
    if (number == 0) unit->place = {line, rendered.key, rendered.group};
}

std::string digest_of_train(const split_assignment& all, const std::vector<text_digest>& texts) {
    units_digest sum;
    for (std::uint32_t u = 0; u < all.train; ++u) {
        sum.add_unit(all.first[u + 1] - all.first[u]);
        for (auto slot = all.first[u]; slot < all.first[u + 1]; ++slot) sum.add_record(texts[slot]);
    }
    return sum.finish();
}

void count_clauses(const record& rendered, std::vector<clause_counts>& into) {
    for (const auto& part : rendered.clauses) {
        if (part.column >= into.size()) into.resize(part.column + 1);
        ++into[part.column][rendered.text.substr(part.whole.begin, part.whole.end - part.whole.begin)];
    }
}

std::vector<clause_counts> compute_sum(const std::vector<std::vector<clause_counts>>& parts) {
    std::vector<clause_counts> out;
    for (const auto& part : parts) {
        out.resize(std::max(out.size(), part.size()));
        for (std::size_t column = 0; column < part.size(); ++column)
            for (const auto& [text, count] : part[column]) out[column][text] += count;
    }
    return out;
}

}  // namespace

double expected_held_out(const split_rule& split, std::int64_t population) {
    return static_cast<double>(population) * split.eval / (1 - split.eval);
}

double share_of_held_out(std::int64_t count, double expected) {
    return expected > 0 ? std::min(1.0, static_cast<double>(count) / expected) : 1;
}

bool is_looked_at(std::uint64_t unit, double share) {
    return happens(unit, share);
}

token_corpus load_tokens(const source& from, const split_rule& split, const token_rule& how) {
    token_collector train;
    auto out = load_tokens(from, split, how, train);
    out.train = train.finish();
    return out;
}

token_corpus load_tokens(const source& from, const split_rule& split, const token_rule& how, token_sink& into) {
    check_cut(how.max_tokens, how.threads);
    const auto records = open_records(from);
    auto all = assign_splits(*records, from, split, how.threads, how.tell);
    token_corpus out;
    out.planted = planted_in(all);
    auto& kept = out.held_out.records;
    out.held_out.expected_units = expected_held_out(split, split.population.value_or(all.train));
    const auto share = how.held_out ? share_of_held_out(*how.held_out, out.held_out.expected_units) : 1;
    const auto places = held_out_places(all, share, kept);
    const auto audited = how.targets ? audited_places(all, *how.targets, out.audited) : text_places{};
    out.split = std::move(all.split);
    out.sketches = std::move(all.sketches);
    all.ids.resize(all.train);
    all.ids.shrink_to_fit();
    out.train_ids = std::move(all.ids);
    const auto train_slots = all.train_slots();
    into.begin(first_slots(all, 0, all.train), how.threads);
    std::vector<std::vector<clause_counts>> counts(static_cast<std::size_t>(how.threads));
    std::vector<text_digest> digests(train_slots);
    std::atomic<std::int64_t> cut{0};

    const auto encode_record = [&](const record& rendered, bool marked, bool& longer) {
        auto tokens = how.encode(rendered.text);
        if (marked && how.mark) how.mark(rendered, tokens);
        longer = cut_to(tokens, how.max_tokens, how.keep_tail);
        if (tokens.size() < 2) tokens.clear();
        return tokens;
    };
    const auto take = [&](std::size_t worker, std::uint32_t slot, record rendered, std::size_t line) {
        bool longer = false;
        keep_text(audited, slot, rendered, line);
        if (slot >= train_slots) {
            count_clauses(rendered, counts[worker]);
            const auto place = places.find(slot);
            if (place == places.end()) return;
            auto tokens = encode_record(rendered, true, longer);
            auto& one = kept[place->second];
            one.tokens = std::move(tokens);
            one.rendered = std::move(rendered);
            one.cut = longer;
            return;
        }
        const auto tokens = encode_record(rendered, how.mark_training, longer);
        digests[slot] = compute_digest(rendered.text);
        cut += longer ? 1 : 0;
        into.take(worker, slot, tokens);
    };
    read_again(*records, from, all, how.threads,
               {.take = take, .inspect = how.inspect, .done = [&](std::size_t done) {
                    into.settle();
                    if (how.tell)
                        how.tell({"records", static_cast<std::int64_t>(done), std::ssize(all.slot_of), false});
                }});

    std::erase_if(kept, [](const auto& one) { return one.tokens.empty(); });
    out.held_out.columns = records->columns();
    out.held_out.values = compute_sum(counts);
    out.records = train_slots;
    out.cut = cut;
    out.digest = digest_of_train(all, digests);
    out.warnings = records->warnings();
    return out;
}

}  // namespace rldp::data
