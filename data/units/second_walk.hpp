#pragma once
// The second walk through a source: every text once more, now that it is known where each belongs.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "data/units/enrolment.hpp"

namespace rldp::data {

struct text_taker {
    /// A record as training sees it, its secret included, with its slot; called by several threads.
    std::function<void(std::size_t worker, std::uint32_t slot, record rendered)> take;
    /// Every record's own text before that, whether it has a slot or not; called by several threads.
    std::function<void(const record& rendered)> inspect = [](const record&) {};
    /// Called when a block of records is done, with how many are.
    std::function<void(std::size_t records)> done = [](std::size_t) {};
};

/// Errors: bad_input where the source no longer holds as many records as were enrolled; what `how` throws.
void read_again(record_stream& from, const source& what, const split_assignment& enrolled, int threads, const text_taker& how);

}  // namespace rldp::data
