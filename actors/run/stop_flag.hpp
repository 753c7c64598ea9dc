#pragma once
// Tells work that is under way, on whatever thread, that nobody waits for it any more.
#include <atomic>
#include <memory>

namespace rldp::actors {

/// Copies are one flag. Safe to use from several threads.
class stop_flag {
  public:
    void raise() { *raised_ = true; }
    bool raised() const { return *raised_; }

  private:
    std::shared_ptr<std::atomic<bool>> raised_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace rldp::actors
