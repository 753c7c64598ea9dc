#pragma once
// Who stands where, decided while a source is read once; and the second walk, which reads the texts.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/loading.hpp"
#include "base/unit_sketch.hpp"
#include "data/sources/records.hpp"
#include "data/units/corpus.hpp"

namespace rldp::data {

/// Samples identities while a table is read.
class identity_sample {
  public:
    /// Under a hash that no setting changes: the same rows are sampled whatever the split.
    void add(std::string_view identity);
    void add(const identity_sample& other);
    unit_sketch finish() const;

  private:
    void keep(std::uint64_t hash);

    unsigned level_ = 0;
    std::unordered_set<std::uint64_t> kept_;
};

// Split assignment. Who stands where, decided from hashes alone: a first walk through a source, before any text is
// kept.

/// Every record that is kept has a slot: by side (training, Eval, Attack), within it by the unit's id, within the unit
/// by the record's own hash.
struct split_assignment {
    static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

    std::vector<std::uint32_t> slot_of;  ///< of each record in the source's order; nowhere: beyond max_records
    std::vector<std::uint32_t> first;    ///< each unit's first slot, and behind the last unit the number of slots
    std::vector<std::uint64_t> ids;      ///< of the units
    std::uint32_t train = 0, eval = 0;   ///< units of the first two sides
    std::unordered_map<std::uint32_t, std::string> secrets;  ///< of those units' first slots that carry one
    std::string split;       ///< digest of every unit's identity and side: equal ones are one split
    unit_sketches sketches;  ///< of all records: their rows, and keys where there are any

    std::uint32_t units() const { return static_cast<std::uint32_t>(ids.size()); }
    std::uint32_t train_slots() const { return first[train]; }
};

/// Errors: bad_input where a record key appears twice, there is no record, or the train side is empty; see place().
split_assignment assign_splits(record_stream& from, const source& what, const split_rule& split, int threads,
                               const on_loading& tell = {});

// Second walk. Through the same source: every text once more, now that it is known where each belongs.

struct text_taker {
    /// A record as training sees it, its secret included, with its slot and line; called by several threads.
    std::function<void(std::size_t worker, std::uint32_t slot, record rendered, std::size_t line)> take;
    /// Every record's own text before that, whether it has a slot or not; called by several threads.
    std::function<void(const record& rendered)> inspect = [](const record&) {};
    /// Called when a block of records is done, with how many are.
    std::function<void(std::size_t records)> done = [](std::size_t) {};
};

/// Errors: bad_input where the source no longer holds as many records as were assigned; what `how` throws.
void read_again(record_stream& from, const source& what, const split_assignment& enrolled, int threads,
                const text_taker& how);

}  // namespace rldp::data
