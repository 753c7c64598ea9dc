#pragma once
// A walk through a source: the next block is made while several threads work on the records of one.
#include <cstddef>
#include <functional>

#include "data/sources/records.hpp"

namespace rldp::data {

struct record_walk {
    /// Called before the records of a block are worked on, with the number of records up to its end.
    std::function<void(std::size_t count)> room = [](std::size_t) {};
    /// Called for every record, by several threads: the i-th of its block, the number-th of the source.
    std::function<void(std::size_t worker, const record_block& block, std::size_t i, std::size_t number)> work;
    /// Called when a block is done.
    std::function<void()> done = [] {};
};

/// Begins at the source's start. Errors: what the first failing record threw.
void for_each_record(record_stream& from, int threads, const record_walk& walk);

}  // namespace rldp::data
