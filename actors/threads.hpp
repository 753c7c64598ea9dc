#pragma once
// Threads and memory of a process whose actors pass large tensors to each other.

namespace rldp::actors {

/// As many as training may use: models::default_threads().
int all_threads();

/// From now on the calling thread's tensor operations use `count` threads. at::set_num_threads() would do more: threads
/// that come later would start with that number too, and so an evaluation under way slow down training for good.
void use_threads(int count);

/// One heap for all threads, before the first is started, that keeps what was freed: tensors are made by one actor and freed by
/// another, and with a heap per thread every step would take fresh pages from the system (3 % of a step of the demo).
void share_heap();

}  // namespace rldp::actors
