#include "data/units/load_tokens.hpp"

#include <atomic>

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

std::string digest_of_train(const enrolment& all, const std::vector<text_digest>& texts) {
    units_digest sum;
    for (std::uint32_t u = 0; u < all.train; ++u) {
        sum.add_unit(all.first[u + 1] - all.first[u]);
        for (auto slot = all.first[u]; slot < all.first[u + 1]; ++slot) sum.add_record(texts[slot]);
    }
    return sum.finish();
}

}  // namespace

token_corpus load_tokens(const source& from, const split_rule& split, const token_rule& how) {
    check_cut(how.max_tokens, how.threads);
    const auto records = open_records(from);
    auto all = enrol(*records, from, split, how.threads);
    token_corpus out;
    out.planted = planted_in(all);
    all.ids = {};  // eight bytes a unit that nobody needs any more
    const auto train_slots = all.train_slots(), held_slots = all.eval_slots();
    token_collector train(first_slots(all, 0, all.train), how.threads);
    token_collector eval(first_slots(all, all.train, all.train + all.eval), how.threads);
    std::vector<text_digest> digests(train_slots);
    std::atomic<std::int64_t> cut{0};

    const auto take = [&](std::size_t worker, std::uint32_t slot, const std::string& text) {
        const bool trains = slot < train_slots;
        if (!trains && slot - train_slots >= held_slots) return;
        auto tokens = how.encode(text);
        const bool longer = cut_to(tokens, how.max_tokens, how.keep_tail);
        if (tokens.size() < 2) tokens.clear();
        if (!trains) return eval.take(worker, slot - train_slots, tokens);
        digests[slot] = digest_of(text);
        cut += longer ? 1 : 0;
        train.take(worker, slot, tokens);
    };
    read_again(*records, from, all, how.threads,
               {.take = take, .inspect = how.inspect, .done = [&] { train.settle(), eval.settle(); }});

    out.train = train.finish();
    out.eval = eval.finish();
    out.records = train_slots;
    out.cut = cut;
    out.digest = digest_of_train(all, digests);
    out.warnings = records->warnings();
    if (all.eval == 0) out.warnings.push_back(no_eval_warning(from));
    return out;
}

}  // namespace rldp::data
