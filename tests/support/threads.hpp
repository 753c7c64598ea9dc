#pragma once
// The calling thread's operators and loops on so many threads.
#include <ATen/Parallel.h>

namespace rldp::testing {

class on_threads {
  public:
    explicit on_threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
    ~on_threads() { at::set_num_threads(before_); }
    on_threads(const on_threads&) = delete;
    on_threads& operator=(const on_threads&) = delete;

  private:
    int before_;
};

}  // namespace rldp::testing
