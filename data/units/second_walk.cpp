#include "data/units/second_walk.hpp"

#include "config/base/error.hpp"
#include "data/sources/each_record.hpp"
#include "data/units/canary.hpp"

namespace rldp::data {

namespace {

void plant(const std::string& secret, record& into) {
    const auto end = into.text.size();
    into.text = with_secret(into.text, secret);
    if (!into.answers.empty()) into.answers.push_back({end, into.text.size()});  // or it would not be learned
}

}  // namespace

void read_again(record_stream& from, const source& what, const split_assignment& enrolled, int threads,
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
                             auto rendered = block.at(i);
                             how.inspect(rendered);
                             const auto slot = enrolled.slot_of[number];
                             if (slot == split_assignment::nowhere) return;
                             const auto secret = enrolled.secrets.find(slot);
                             if (secret != enrolled.secrets.end()) plant(secret->second, rendered);
                             how.take(worker, slot, std::move(rendered));
                         },
                     .done = [&] { how.done(records); }});
    if (records != enrolled.slot_of.size()) changed();
}

}  // namespace rldp::data
