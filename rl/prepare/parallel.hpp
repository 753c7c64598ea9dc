#pragma once
// Independent work on several threads, with the same result for any number of them.
#include <cstddef>
#include <functional>

namespace rldp::rl {

/// work(0), …, work(count − 1), each once, on `jobs` threads. The first exception by index is thrown when all have
/// ended.
void for_each_index(std::size_t count, int jobs, const std::function<void(std::size_t)>& work);

}  // namespace rldp::rl
