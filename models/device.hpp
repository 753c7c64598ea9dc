#pragma once
// What a model is computed on: devices by name, work beside training on one, and how matrix products are computed.
#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/kinds.hpp"
#include "models/causal_lm.hpp"

namespace rldp::models {

// Devices. By name, and work beside training on one.

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

// Matrix products. How they are computed: by which BLAS, on how many threads, in which precision.

/// What OMP_NUM_THREADS says, else the physical cores that this process may use. (LibTorch's own count sees one core in
/// some virtual machines that have more.)
int default_threads();

/// Whether a model's operators are too small to be shared out among threads: each then ends with a wait for the slowest
/// thread, and with other work on the machine that is a time slice every time (a step of config/demo.json: 0.5 s alone,
/// 15 s beside a compilation).
bool is_narrow(const model_config& model);

/// Where addresses are limited (ulimit -v): has OpenBLAS map now what `callers` products at a time need. Asked later,
/// at the limit, it repeats the refused call forever. Errors: bad_input where the limit leaves too few.
void reserve_blas_memory(int callers);

/// Reserves what OpenBLAS needs, and sets the number of threads of the calling thread's operators. Where the BLAS is
/// OpenBLAS with threads of its own (not OpenMP's, which LibTorch shares), it is kept to one thread for narrow models,
/// in the whole process: between many small products its threads only spin, and take the processors from LibTorch's.
/// The user's OPENBLAS_NUM_THREADS wins.
void choose_threads(const model_config& model, int threads = default_threads());

/// The type of the weights for a precision. Sets for the whole process whether a CUDA device uses TensorFloat-32, and
/// that it computes the same bits from the same numbers, or fails: that no bit of a unit's gradient depends on another
/// unit (docs/privacy.md §6) can't hold where two runs differ. Errors: bad_input for tf32 on a device that is not CUDA.
at::ScalarType use_precision(precision type, at::Device device);

/// The BLAS that answers, with its version, of OpenBLAS kernels and kind of threads, too, and oneDNN's version where it
/// computes products, too; what LibTorch's build says where it is neither OpenBLAS nor MKL.
std::string blas_name();

}  // namespace rldp::models
