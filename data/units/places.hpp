#pragma once
// Back from units, which go by hashes, to where they stand in their file: for their owner's eyes.
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "data/units/corpus.hpp"

namespace rldp::data {

struct unit_place {
    std::size_t line = 0;    ///< of the unit's first record that is trained on
    std::string key, group;  ///< as record's; empty where there is none
};

/// Of the units with these ids; reads the source twice. Errors: as load_corpus.
std::map<std::uint64_t, unit_place> list_places(const source& from, const split_rule& split,
                                              const std::set<std::uint64_t>& ids);

}  // namespace rldp::data
