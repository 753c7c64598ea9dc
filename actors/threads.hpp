#pragma once
// How many processors an actor's own thread may use for tensors.

namespace rldp::actors {

/// As many as LibTorch would use.
int all_threads();

/// From now on the calling thread's tensor operations use `count` threads. at::set_num_threads() would do more: threads
/// that come later would start with that number too, and so an evaluation under way slow down training for good.
void use_threads(int count);

}  // namespace rldp::actors
