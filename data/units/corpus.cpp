#include "data/units/corpus.hpp"

#include <utility>

#include "data/units/digest.hpp"
#include "data/units/enrolment.hpp"
#include "data/units/second_walk.hpp"

namespace rldp::data {

namespace {

std::string digest_of_units(const std::vector<unit>& units) {
    units_digest sum;
    for (const auto& u : units) {
        sum.add_unit(u.records.size());
        for (const auto& text : u.records) sum.add_record(compute_digest(text));
    }
    return sum.finish();
}

/// The units from number `begin` on whose records lie in `texts`, moved out of there.
std::vector<unit> take_units(const split_assignment& all, std::uint32_t begin, std::uint32_t end,
                           std::vector<std::string>& texts) {
    std::vector<unit> out(end - begin);
    for (auto u = begin; u < end; ++u) {
        auto& made = out[u - begin];
        made.id = all.ids[u];
        for (auto slot = all.first[u]; slot < all.first[u + 1]; ++slot) made.records.push_back(std::move(texts[slot]));
        if (const auto secret = all.secrets.find(all.first[u]); secret != all.secrets.end())
            made.canary = secret->second;
    }
    return out;
}

}  // namespace

corpus load_corpus(const source& from, const split_rule& split) {
    const auto records = open_records(from);
    const auto all = assign_splits(*records, from, split, 1);
    std::vector<std::string> texts(all.first.back());
    read_again(*records, from, all, 1,
               {.take = [&](std::size_t, std::uint32_t slot, record rendered) { texts[slot] = std::move(rendered.text); }});
    corpus out;
    out.train = take_units(all, 0, all.train, texts);
    out.eval = take_units(all, all.train, all.train + all.eval, texts);
    out.attack = take_units(all, all.train + all.eval, all.units(), texts);
    out.digest = digest_of_units(out.train);
    out.warnings = records->warnings();
    if (out.eval.empty()) out.warnings.push_back(no_eval_warning(from));
    return out;
}

}  // namespace rldp::data
