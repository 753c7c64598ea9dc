#pragma once
// Who stands where, decided from hashes alone: a first walk through a source, before any text is kept.
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/base/loading.hpp"
#include "config/base/unit_sketch.hpp"
#include "data/sources/records.hpp"
#include "data/units/corpus.hpp"

namespace rldp::data {

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

/// Where no unit fell to Eval.
std::string no_eval_warning(const source& what);

}  // namespace rldp::data
