#include "data/sources/each_record.hpp"

#include <future>

#include "data/sources/parallel.hpp"

namespace rldp::data {

void for_each_record(record_stream& from, int threads, const record_walk& walk) {
    from.rewind();
    std::size_t before = 0;
    auto block = from.next();
    while (block) {
        auto ahead = std::async(std::launch::async, [&] { return from.next(); });
        walk.room(before + block->size());
        in_parallel(threads, block->size(),
                    [&](std::size_t worker, std::size_t i) { walk.work(worker, *block, i, before + i); });
        walk.done();
        before += block->size();
        block = ahead.get();
    }
}

}  // namespace rldp::data
