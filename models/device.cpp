#include "models/device.hpp"

#include <ATen/Context.h>
#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>
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

namespace {

/// Calls a function of the CUDA runtime that LibTorch is linked with. Its headers are not asked for: they differ from
/// version to version, these functions do not.
template <class... Values>
void ask_cuda(const std::string& key, const char* name, Values... values) {
    const auto ask = reinterpret_cast<int (*)(Values...)>(dlsym(RTLD_DEFAULT, name));
    const auto describe = reinterpret_cast<const char* (*)(int)>(dlsym(RTLD_DEFAULT, "cudaGetErrorString"));
    refuse_unless(ask && describe, fmt::format("{}: LibTorch's CUDA runtime has no {}", key, name));
    if (const int failed = ask(values...); failed != 0)
        refuse(
            fmt::format("{}: the CUDA device can't be used: {}; see nvidia-smi for what holds it, or for a driver "
                        "that is too old or lost it",
                        key, describe(failed)));
}

}  // namespace

std::optional<card> find_card(at::Device device, const std::string& key) {
    if (!device.is_cuda()) return std::nullopt;
    const c10::DeviceGuard current(device);
    card out;
    std::size_t free = 0, all = 0;
    ask_cuda(key, "cudaMemGetInfo", &free, &all);  // the first call that needs the device itself
    out.free = static_cast<std::int64_t>(free);
    out.all = static_cast<std::int64_t>(all);
    constexpr int major_attribute = 75, minor_attribute = 76;  // cudaDevAttrComputeCapability…
    int index = 0, major = 0, minor = 0;
    ask_cuda(key, "cudaGetDevice", &index);
    ask_cuda(key, "cudaDeviceGetAttribute", &major, major_attribute, index);
    ask_cuda(key, "cudaDeviceGetAttribute", &minor, minor_attribute, index);
    out.generation = 10 * major + minor;
    return out;
}

void check_precision(const card& there, precision type, const std::string& key) {
    refuse_unless(
        type != precision::bfloat16 || there.generation >= 80,
        fmt::format("{}: the CUDA device has compute capability {}.{}, and bfloat16 came with 8.0; use float32", key,
                    there.generation / 10, there.generation % 10));
}

side_stream::side_stream(at::Device device) {
    if (!device.is_cpu()) own_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

}  // namespace rldp::models
