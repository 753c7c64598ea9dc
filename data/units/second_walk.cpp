#include "data/units/second_walk.hpp"

#include "config/base/error.hpp"
#include "data/sources/each_record.hpp"
#include "data/units/canary.hpp"

namespace rldp::data {

void read_again(record_stream& from, const source& what, const enrolment& enrolled, int threads,
                const text_taker& how) {
    const auto changed = [&] { refuse(what.path + ": changed while it was read; start again when it is at rest"); };
    std::size_t records = 0;
    for_each_record(from, threads,
                    {.room =
                         [&](std::size_t count) {
                             if (count > enrolled.slot_of.size()) changed();
                             records = count;
                         },
                     .work =
                         [&](std::size_t worker, const record_block& block, std::size_t i, std::size_t number) {
                             auto told = block.at(i);
                             how.inspect(told.text);
                             const auto slot = enrolled.slot_of[number];
                             if (slot == enrolment::nowhere) return;
                             const auto secret = enrolled.secrets.find(slot);
                             if (secret != enrolled.secrets.end()) told.text = with_secret(told.text, secret->second);
                             how.take(worker, slot, std::move(told));
                         },
                     .done = how.done});
    if (records != enrolled.slot_of.size()) changed();
}

}  // namespace rldp::data
