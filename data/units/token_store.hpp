#pragma once
// Units as tokens: 4 bytes a token and 16 a record, however many there are.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "data/units/corpus.hpp"

namespace rldp::data {

/// A unit in a store: good as long as the store is there and gets no more.
struct unit_view {
    std::vector<std::span<const std::int32_t>> records;  ///< tokens of each
    std::optional<std::int64_t> gradient_canary = {};    ///< see token_unit
};

class token_store {
  public:
    token_store() = default;
    token_store(const std::vector<token_unit>& units);  // NOLINT: a list of units is one

    std::size_t size() const { return first_.empty() ? 0 : first_.size() - 1; }  ///< also of one that was moved from
    bool empty() const { return size() == 0; }
    unit_view operator[](std::size_t unit) const;
    void push_back(const token_unit& unit);

  private:
    friend class token_collector;

    /// Where the tokens of a record lie; none of one that was left out.
    struct span {
        std::uint32_t block = 0, begin = 0, length = 0;
    };

    std::vector<std::vector<std::int32_t>> blocks_;
    std::vector<span> records_;
    std::vector<std::uint32_t> first_{0};  ///< each unit's first record, and the end
    std::map<std::size_t, std::int64_t> gradient_canaries_;
};

/// Fills a store whose records come in any order, from several threads.
class token_collector {
  public:
    /// `first`: each unit's first record, from 0, and the end.
    token_collector(std::vector<std::uint32_t> first, int threads);

    /// The tokens of a record, once at most for each.
    void take(std::size_t worker, std::uint32_t record, const std::vector<std::int32_t>& tokens);
    /// Gives memory back that was held for more; no take() may be under way.
    void settle();
    token_store finish();

  private:
    void open_block(std::size_t worker);

    token_store made_;
    std::vector<std::uint32_t> open_;                 ///< each worker's block
    std::vector<std::vector<std::int32_t>> growing_;  ///< and its tokens so far
};

}  // namespace rldp::data
