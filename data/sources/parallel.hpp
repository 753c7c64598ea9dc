#pragma once
// The same work on many things by several threads.
#include <cstddef>
#include <functional>

namespace rldp::data {

/// work(worker, index) for every index below `count`, `worker` below `threads`. Errors: what the first failing index
/// threw, whatever the threads' timing; those behind it may not be tried.
void in_parallel(int threads, std::size_t count, const std::function<void(std::size_t, std::size_t)>& work);

}  // namespace rldp::data
