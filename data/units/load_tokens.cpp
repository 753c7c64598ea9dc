#include "data/units/load_tokens.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <unordered_map>

#include "data/units/cut.hpp"
#include "data/units/digest.hpp"
#include "data/units/second_walk.hpp"

namespace rldp::data {

namespace {

/// The first slots of units `begin` to `end`, counted from the first of them.
std::vector<std::uint32_t> first_slots(const enrolment& all, std::uint32_t begin, std::uint32_t end) {
    std::vector<std::uint32_t> out(all.first.begin() + begin, all.first.begin() + end + 1);
    for (auto& slot : out) slot -= all.first[begin];
    return out;
}

std::vector<std::pair<std::uint64_t, std::string>> planted_in(const enrolment& all) {
    std::vector<std::pair<std::uint64_t, std::string>> out;
    for (std::uint32_t u = 0; u < all.train; ++u)
        if (const auto secret = all.secrets.find(all.first[u]); secret != all.secrets.end())
            out.emplace_back(all.ids[u], secret->second);
    return out;
}

/// Which of the Eval side's slots are kept, and where: the same for the same seed, by a partial Fisher–Yates shuffle.
std::unordered_map<std::uint32_t, std::size_t> held_out_places(std::uint32_t slots, std::optional<std::int64_t> count,
                                                               std::int64_t seed) {
    std::vector<std::uint32_t> order(slots);
    std::iota(order.begin(), order.end(), 0U);
    if (count) {
        std::mt19937_64 random(static_cast<std::uint64_t>(seed));
        const auto keep = std::min(order.size(), static_cast<std::size_t>(*count));
        for (std::size_t i = 0; i < keep; ++i) std::swap(order[i], order[i + random() % (order.size() - i)]);
        order.resize(keep);
    }
    std::unordered_map<std::uint32_t, std::size_t> places;
    for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
    return places;
}

std::string digest_of_train(const enrolment& all, const std::vector<text_digest>& texts) {
    units_digest sum;
    for (std::uint32_t u = 0; u < all.train; ++u) {
        sum.add_unit(all.first[u + 1] - all.first[u]);
        for (auto slot = all.first[u]; slot < all.first[u + 1]; ++slot) sum.add_record(texts[slot]);
    }
    return sum.finish();
}

void count_clauses(const record& told, std::vector<clause_counts>& into) {
    for (const auto& part : told.clauses) {
        if (part.column >= into.size()) into.resize(part.column + 1);
        ++into[part.column][told.text.substr(part.whole.begin, part.whole.end - part.whole.begin)];
    }
}

std::vector<clause_counts> sum_of(const std::vector<std::vector<clause_counts>>& parts) {
    std::vector<clause_counts> out;
    for (const auto& part : parts) {
        out.resize(std::max(out.size(), part.size()));
        for (std::size_t column = 0; column < part.size(); ++column)
            for (const auto& [text, count] : part[column]) out[column][text] += count;
    }
    return out;
}

}  // namespace

token_corpus load_tokens(const source& from, const split_rule& split, const token_rule& how) {
    token_collector train;
    auto out = load_tokens(from, split, how, train);
    out.train = train.finish();
    return out;
}

token_corpus load_tokens(const source& from, const split_rule& split, const token_rule& how, token_sink& into) {
    check_cut(how.max_tokens, how.threads);
    const auto records = open_records(from);
    auto all = enrol(*records, from, split, how.threads, how.tell);
    token_corpus out;
    out.planted = planted_in(all);
    out.split = std::move(all.split);
    out.sketches = std::move(all.sketches);
    all.ids = {};  // eight bytes a unit that nobody needs any more
    const auto train_slots = all.train_slots();
    into.begin(first_slots(all, 0, all.train), how.threads);
    const auto places = held_out_places(all.eval_slots(), how.held_out, how.held_out_seed);
    auto& kept = out.held_out.records;
    kept.resize(places.size());
    std::vector<std::vector<clause_counts>> counts(static_cast<std::size_t>(how.threads));
    std::vector<text_digest> digests(train_slots);
    std::atomic<std::int64_t> cut{0};

    const auto tokens_of = [&](const record& told, bool marked, bool& longer) {
        auto tokens = how.encode(told.text);
        if (marked && how.mark) how.mark(told, tokens);
        longer = cut_to(tokens, how.max_tokens, how.keep_tail);
        if (tokens.size() < 2) tokens.clear();
        return tokens;
    };
    const auto take = [&](std::size_t worker, std::uint32_t slot, record told) {
        bool longer = false;
        if (slot >= train_slots) {
            count_clauses(told, counts[worker]);
            const auto place = places.find(slot - train_slots);
            if (place == places.end()) return;
            auto tokens = tokens_of(told, true, longer);
            kept[place->second] = {std::move(tokens), std::move(told), longer};
            return;
        }
        const auto tokens = tokens_of(told, how.mark_training, longer);
        digests[slot] = digest_of(told.text);
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
    out.held_out.values = sum_of(counts);
    out.records = train_slots;
    out.cut = cut;
    out.digest = digest_of_train(all, digests);
    out.warnings = records->warnings();
    if (all.eval == 0) out.warnings.push_back(no_eval_warning(from));
    return out;
}

}  // namespace rldp::data
