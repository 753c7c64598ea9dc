#include "models/device.hpp"

#include <ATen/Context.h>
#include <fmt/format.h>

#include "config/base/device_name.hpp"
#include "config/base/error.hpp"

namespace rldp::models {

at::Device find_device(const std::string& name, const std::string& key) {
    refuse_unless(is_device_name(name), fmt::format("{}: \"{}\" is none of cpu, cuda, cuda:N", key, name));
    if (name == "cpu") return at::kCPU;
    if (!at::hasCUDA())
        refuse(
            fmt::format("{}: {} is asked for, but this LibTorch sees no CUDA device; use \"cpu\" or a CUDA LibTorch "
                        "(CMAKE_PREFIX_PATH)",
                        key, name));
    const at::Device found(name);
    const auto devices = static_cast<int>(at::getNumGPUs());
    if (found.index() >= devices)
        refuse(fmt::format("{}: {} is asked for, but there are {} CUDA devices, counted from 0", key, name, devices));
    return found;
}

side_stream::side_stream(at::Device device) {
    if (!device.is_cpu()) own_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

}  // namespace rldp::models
