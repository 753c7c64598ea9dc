#pragma once
// Units as tokens: how they come in, and where they lie.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/units/corpus.hpp"

namespace rldp::data {

// Sinks. Where the tokens of training records go while they are read: in any order, from several threads.

class token_sink {
  public:
    virtual ~token_sink() = default;
    /// Once, before all else. `first`: each unit's first record, from 0, and the end.
    virtual void begin(std::vector<std::uint32_t> first, int threads) = 0;
    /// The tokens of a record, once at most for each; by several threads, each a worker of its own.
    virtual void take(std::size_t worker, std::uint32_t record, const std::vector<std::int32_t>& tokens) = 0;
    /// Gives memory back that was held for more; no take() may be under way.
    virtual void settle() = 0;
};

// Stores. 4 bytes a token and 16 a record, however many there are; or in a file (corpus_file.hpp), and next to nothing
// in memory.

class corpus_file;

/// A unit in a store: good as long as the store is there and gets no more.
struct unit_view {
    std::vector<std::span<const std::int32_t>> records;            ///< tokens of each
    std::optional<std::int64_t> gradient_canary = {};              ///< see token_unit
    std::shared_ptr<const std::vector<std::int32_t>> opened = {};  ///< what a file's records lie in
};

class token_store {
  public:
    token_store() = default;
    token_store(const std::vector<token_unit>& units);  // NOLINT: a list of units is one
    explicit token_store(std::shared_ptr<const corpus_file> file);

    std::size_t size() const;  ///< also of one that was moved from
    bool empty() const { return size() == 0; }
    /// Errors: failed where the file is damaged there.
    unit_view operator[](std::size_t unit) const;
    void push_back(const token_unit& unit);

  private:
    friend class token_collector;

    /// Where the tokens of a record lie; none of one that was left out.
    struct span {
        std::uint32_t block = 0, begin = 0, length = 0;
    };

    std::size_t filed() const;

    std::shared_ptr<const corpus_file> file_;  ///< its units come first
    std::vector<std::vector<std::int32_t>> blocks_;
    std::vector<span> records_;
    std::vector<std::uint32_t> first_{0};  ///< each unit's first record, and the end
    std::map<std::size_t, std::int64_t> gradient_canaries_;
};

/// Fills a store in memory.
class token_collector final : public token_sink {
  public:
    void begin(std::vector<std::uint32_t> first, int threads) override;
    void take(std::size_t worker, std::uint32_t record, const std::vector<std::int32_t>& tokens) override;
    void settle() override;
    token_store finish();

  private:
    token_store made_;
    std::vector<std::uint32_t> open_;                 ///< each worker's block
    std::vector<std::vector<std::int32_t>> growing_;  ///< and its tokens so far
};

}  // namespace rldp::data
