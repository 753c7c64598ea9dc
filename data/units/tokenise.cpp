#include <fmt/format.h>

#include <atomic>

#include "config/base/require.hpp"
#include "data/sources/parallel.hpp"
#include "data/units/corpus.hpp"
#include "data/units/cut.hpp"

namespace rldp::data {

void check_cut(std::int64_t max_tokens, int threads) {
    require(max_tokens >= 2, "a record is cut to 2 tokens or more");
    require(threads >= 1, "records are tokenised by at least one thread");
}

bool cut_to(std::vector<std::int32_t>& tokens, std::int64_t max_tokens, bool keep_tail) {
    const auto most = static_cast<std::size_t>(max_tokens);
    if (tokens.size() <= most) return false;
    if (keep_tail)
        tokens.erase(tokens.begin(), tokens.end() - max_tokens);
    else
        tokens.resize(most);
    return true;
}

tokenised tokenise(const std::vector<unit>& units, const encoder& encode, std::int64_t max_tokens, bool keep_tail,
                   int threads) {
    check_cut(max_tokens, threads);
    tokenised out;
    out.units.resize(units.size());
    std::atomic<std::int64_t> records{0}, cut{0};
    in_parallel(threads, units.size(), [&](std::size_t, std::size_t i) {
        for (const auto& record : units[i].records) {
            auto ids = encode(record);
            ++records;
            if (cut_to(ids, max_tokens, keep_tail)) ++cut;
            if (ids.size() >= 2) out.units[i].records.push_back(std::move(ids));
        }
    });
    out.records = records;
    out.cut = cut;
    return out;
}

}  // namespace rldp::data
