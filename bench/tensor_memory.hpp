#pragma once
// Peak memory of the tensors that some work makes, on the processor or on a device.
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/version.h>

#include <algorithm>
#include <memory>
#include <mutex>

namespace rldp::bench {

/// Counts what this thread allocates from now on, and what is freed of it anywhere.
class tensor_memory {
  public:
    tensor_memory() : guard_(c10::DebugInfoKind::PROFILER_STATE, counter_) {}
    /// Leaves out what is there by now.
    void begin() { counter_->begin(); }
    double peak_mebibytes() const { return counter_->peak(); }

  private:
    class counter : public c10::MemoryReportingInfoBase {
      public:
#if TORCH_VERSION_MAJOR >= 2
        void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device) override {
            add(size);
        }
#else
        void reportMemoryUsage(void*, std::int64_t size, std::int64_t, std::int64_t, c10::Device) override {
            add(size);
        }
#endif
        bool memoryProfilingEnabled() const override {
            return true;
        }
        double peak() const {
            return static_cast<double>(most_ - before_) / (1 << 20);
        }
        void begin() {
            most_ = before_ = now_;
        }

      private:
        void add(std::int64_t size) {  // negative where memory is freed
            const std::lock_guard lock(mutex_);
            now_ += size;
            most_ = std::max(most_, now_);
        }
        std::mutex mutex_;
        std::int64_t now_ = 0, most_ = 0, before_ = 0;
    };

    std::shared_ptr<counter> counter_ = std::make_shared<counter>();
    c10::DebugInfoGuard guard_;
};

}  // namespace rldp::bench
