#pragma once
// A file's units with their texts, all of them: what load_tokens keeps of some.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "data/units/load_tokens.hpp"

namespace rldp::data {

struct corpus {
    std::vector<unit> train, eval, attack;
    std::vector<std::string> warnings;
    std::string digest;
};

inline corpus load_corpus(const source& from, const split_rule& split) {
    auto found = load_tokens(from, split,
                             {.encode =
                                  [](const std::string&) {
                                      return std::vector<std::int32_t>{0, 0};
                                  },
                              .max_tokens = 2,
                              .targets = std::numeric_limits<std::int64_t>::max()});
    corpus out{
        std::move(found.audited.carriers), {}, std::move(found.audited.non_members), found.warnings, found.digest};
    out.train.insert(out.train.end(), found.audited.members.begin(), found.audited.members.end());
    std::sort(out.train.begin(), out.train.end(), [](const unit& a, const unit& b) { return a.id < b.id; });
    for (auto& record : found.held_out.records) {
        if (out.eval.empty() || out.eval.back().id != record.unit) out.eval.push_back({record.unit, {}, {}});
        out.eval.back().records.push_back(std::move(record.rendered.text));
    }
    return out;
}

}  // namespace rldp::data
