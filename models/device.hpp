#pragma once
// Devices by name, and work beside training on one.
#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdint>
#include <optional>
#include <string>

#include "config/base/kinds.hpp"

namespace rldp::models {

/// "cpu", "cuda" (the first, or a rank's own) or "cuda:N". Errors: bad_input, beginning with `key`, where LibTorch sees
/// no such device.
at::Device find_device(const std::string& name, const std::string& key);

/// What CUDA's runtime says of a card.
struct card {
    int generation = 0;     ///< compute capability, 80 for 8.0
    std::int64_t free = 0;  ///< bytes that no program holds now
    std::int64_t all = 0;   ///< bytes
};

/// Nothing for the CPU. Errors: bad_input, beginning with `key`, where the card can't be used: another program has it
/// for itself, its driver is too old, it fell off the bus.
std::optional<card> find_card(at::Device device, const std::string& key);

/// Errors: bad_input, beginning with `key`, where `type` is bfloat16 and the card is older than compute capability
/// 8.0, with which it came.
void check_precision(const card& there, precision type, const std::string& key);

/// A stream of its own on a device, so that work there and training do not wait for each other; on the CPU nothing. One
/// stream for as long as it lives, since LibTorch keeps freed memory for the stream that had it.
class side_stream {
  public:
    explicit side_stream(at::Device device);

    /// Runs `work`, whose kernels wait for what this thread's stream has to do when it begins, which made its inputs.
    /// It must end with its results on the CPU: then nothing is under way that reads the inputs.
    template <class Work>
    auto run(const Work& work) const {
        if (!own_) return work();
        const auto type = own_->device_type();
        c10::Event inputs(type);
        inputs.record(c10::impl::VirtualGuardImpl(type).getStream(own_->device()));
        inputs.block(*own_);
        const c10::StreamGuard guard(*own_);
        return work();
    }

  private:
    std::optional<c10::Stream> own_;
};

}  // namespace rldp::models
