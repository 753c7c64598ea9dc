#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/kinds.hpp"
#include "models/device.hpp"
#include "models/kernels/products.hpp"
#include "models/thread_count.hpp"
#include "models/torch_compat.hpp"

namespace rldp::models {

namespace {

// Looked up at run time: it must be the function of the library that LibTorch itself runs on.
template <typename Setter>
void call_if_there(const char* name, int count) {
    if (const auto set = reinterpret_cast<Setter>(dlsym(RTLD_DEFAULT, name))) set(count);
}

}  // namespace

void use_threads(int count) {
    // LibTorch sets a new thread's number once: its library, and each program whose own code calls at::parallel_for().
    // A later setting of ours would be overwritten.
    at::get_num_threads();
    at::internal::lazy_init_num_threads();
    call_if_there<void (*)(int)>("omp_set_num_threads", count);
    call_if_there<int (*)(int)>("MKL_Set_Num_Threads_Local",
                                count);  // where at::set_num_threads() was called, MKL asks no OpenMP
}

one_thread::one_thread() : before_(at::get_num_threads()) {
    use_threads(1);
}

one_thread::~one_thread() {
    use_threads(before_);
}

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

namespace {

// Looked up at run time: LibTorch is linked to whatever BLAS the system chose.
template <class Function>
Function blas_symbol(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

enum class blas_threading { none = 0, own = 1, openmp = 2 };  // as openblas_get_parallel() says it

std::optional<blas_threading> threading() {
    const auto ask = blas_symbol<int (*)()>("openblas_get_parallel");
    return ask ? std::optional(static_cast<blas_threading>(ask())) : std::nullopt;
}

// Which core a processor belongs to: "package core", as Linux numbers them.
std::string find_core(int processor) {
    std::string name;
    for (const char* part : {"physical_package_id", "core_id"}) {
        std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", processor, part));
        std::string number;
        if (!(file >> number)) return fmt::format("processor {}", processor);
        name += number + ' ';
    }
    return name;
}

int usable_cores() {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    std::set<std::string> cores;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor)
        if (CPU_ISSET(processor, &allowed)) cores.insert(find_core(processor));
    return static_cast<int>(cores.size());
}

/// "Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for …": name and version are of use.
std::string mkl_name() {
    const auto text = at::get_mkl_version();
    constexpr std::string_view before = "Version ";
    const auto at = text.find(before);
    const auto begin = at == std::string::npos ? 0 : at + before.size();
    return "MKL " + text.substr(begin, text.find_first_of("- \n", begin) - begin);
}

/// A distribution may have linked LibTorch to whatever stands behind libblas, and its build then says "generic".
std::string blas_of_build() {
    const auto text = at::show_config();
    constexpr std::string_view before = "BLAS_INFO=";
    const auto at = text.find(before);
    if (at == std::string::npos) return "unknown";
    const auto begin = at + before.size();
    return text.substr(begin, text.find_first_of(", \n", begin) - begin);
}

}  // namespace

int default_threads() {
    static const int threads = std::getenv("OMP_NUM_THREADS") ? at::intraop_default_num_threads() : usable_cores();
    return threads;
}

bool is_narrow(const model_config& model) {
    return model.width < 256;
}

void choose_threads(const model_config& model, int threads) {
    reserve_blas_memory(4 * (threads + 1));  // gradients, evaluation, an attack and the short products of other actors
    use_threads(threads);
    if (!is_narrow(model) || threading() != blas_threading::own || std::getenv("OPENBLAS_NUM_THREADS")) return;
    if (const auto set = blas_symbol<void (*)(int)>("openblas_set_num_threads")) set(1);
}

void reserve_blas_memory(int callers) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    const auto take = blas_symbol<void* (*)(int)>("blas_memory_alloc");
    const auto give_back = blas_symbol<void (*)(void*)>("blas_memory_free");
    if (!take || !give_back) return;
    constexpr std::size_t buffer = std::size_t{128} << 20;  // OpenBLAS's BUFFER_SIZE on 64-bit processors
    // For what starts later: stacks of threads, and oneDNN, which crashes where it may not map code.
    constexpr std::size_t others = std::size_t{256} << 20;
    const auto needed = static_cast<std::size_t>(callers) * buffer;
    void* probe = ::mmap(nullptr, needed + others, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe == MAP_FAILED)
        refuse(fmt::format(
            "the limit on addresses (ulimit -v) is {} MiB, which leaves less than the {} MiB that OpenBLAS maps for "
            "{} threads, where it would wait for ever, and {} MiB for other libraries and stacks; raise the limit, or "
            "limit memory by a control group",
            limit.rlim_cur >> 20, needed >> 20, callers, others >> 20));
    ::munmap(probe, needed + others);
    std::vector<void*> buffers(static_cast<std::size_t>(callers));
    std::generate(buffers.begin(), buffers.end(), [&] { return take(0); });
    for (void* taken : buffers) give_back(taken);  // OpenBLAS keeps them for whoever asks next
}

at::ScalarType use_precision(precision type, at::Device device) {
    if (type == precision::tf32 && !device.is_cuda())
        refuse("tf32 is a precision of CUDA devices; use float32, or device cuda");
    at::globalContext().setAllowTF32CuBLAS(type == precision::tf32);
    if (device.is_cuda()) compat::use_deterministic_algorithms();
    return type == precision::bfloat16 ? at::kBFloat16 : at::kFloat;
}

std::string blas_name() {
    const auto describe = blas_symbol<const char* (*)()>("openblas_get_config");
    if (!describe && at::hasMKL()) return mkl_name();
    if (!describe) return blas_of_build();
    // "OpenBLAS 0.3.21 DYNAMIC_ARCH … SkylakeX MAX_THREADS=64": name and version are of use.
    const std::string text = describe();
    const auto version_end = text.find(' ', text.find(' ') + 1);
    const auto core = blas_symbol<const char* (*)()>("openblas_get_corename");
    const auto kinds = std::map<blas_threading, std::string>{{blas_threading::none, "no threads"},
                                                             {blas_threading::own, "threads of its own"},
                                                             {blas_threading::openmp, "OpenMP"}};
    const auto kind = kinds.find(threading().value_or(blas_threading::none));
    const auto other = onednn_name();
    return fmt::format("{} ({}{}){}", text.substr(0, version_end), core ? core() + std::string(" kernels, ") : "",
                       kind == kinds.end() ? "unknown threads" : kind->second, other.empty() ? "" : ", " + other);
}

}  // namespace rldp::models
