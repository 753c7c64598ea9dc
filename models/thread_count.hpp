#pragma once
// How many threads the calling thread's tensor operations use.

namespace rldp::models {

/// From now on `count`. at::set_num_threads() would do more: threads that come later would start with that number, too,
/// and each of them would first make LibTorch's pool for mobile models anew, whose workers spin for 10 ms.
void use_threads(int count);

/// One, while this lives: where a result must be the same to the bit on any machine. (How OpenBLAS divides a product
/// among threads changes its last bits on some processors.)
class one_thread {
  public:
    one_thread();
    ~one_thread();
    one_thread(const one_thread&) = delete;
    one_thread& operator=(const one_thread&) = delete;

  private:
    int before_;
};

}  // namespace rldp::models
