#include "data/units/places.hpp"

#include <algorithm>
#include <thread>

#include "data/units/enrolment.hpp"

namespace rldp::data {

std::map<std::uint64_t, unit_place> list_places(const source& from, const split_rule& split,
                                              const std::set<std::uint64_t>& ids) {
    const auto stream = open_records(from);
    const auto enrolled =
        assign_splits(*stream, from, split, static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
    // A unit's first slot is the record that carries its secret.
    std::map<std::uint32_t, std::uint64_t> wanted;
    for (std::uint32_t unit = 0; unit < enrolled.units(); ++unit)
        if (ids.contains(enrolled.ids[unit])) wanted.emplace(enrolled.first[unit], enrolled.ids[unit]);
    std::map<std::uint64_t, unit_place> out;
    stream->rewind();
    std::size_t before = 0;
    for (auto block = stream->next(); block; block = stream->next()) {
        for (std::size_t i = 0; i < block->size(); ++i) {
            const auto found = wanted.find(enrolled.slot_of[before + i]);
            if (found == wanted.end()) continue;
            const auto who = block->identity(i);
            out[found->second] = {block->line(i), who.key, who.group};
        }
        before += block->size();
    }
    return out;
}

}  // namespace rldp::data
