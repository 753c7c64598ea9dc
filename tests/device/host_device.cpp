#include "tests/device/host_device.hpp"

#include <ATen/ATen.h>

#include <mutex>
#include <utility>

#if TORCH_VERSION_MAJOR == 1
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstdlib>
#endif

namespace rldp::testing {

namespace {

std::mutex guard;
std::map<std::string, int> waited;
std::vector<std::string> told;

}  // namespace

std::map<std::string, int> waits() {
    const std::lock_guard lock(guard);
    return std::exchange(waited, {});
}

std::vector<std::string> stream_log() {
    const std::lock_guard lock(guard);
    return std::exchange(told, {});
}

#if TORCH_VERSION_MAJOR == 1

namespace {

void note_wait(const std::string& name) {
    const std::lock_guard lock(guard);
    ++waited[name];
}

void note_stream(const std::string& what, c10::StreamId stream) {
    const std::lock_guard lock(guard);
    told.push_back(what + " " + std::to_string(stream));
}

bool is_here(const at::Tensor& t) {
    return t.defined() && t.device().type() == at::kPrivateUse1;
}

// -- memory --

struct memory final : c10::Allocator {
    c10::DataPtr allocate(std::size_t bytes) const override {
        void* block = bytes == 0 ? nullptr : std::malloc(bytes);
        return {block, block, &std::free, host_device()};
    }
} allocator;

const c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);

at::Tensor empty(at::IntArrayRef size, c10::optional<at::ScalarType> dtype, c10::optional<at::Layout>,
                 c10::optional<at::Device>, c10::optional<bool>, c10::optional<at::MemoryFormat> format) {
    return at::detail::empty_generic(size, &allocator, keys, dtype.value_or(at::kFloat), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, c10::optional<at::ScalarType> dtype,
                         c10::optional<at::Layout>, c10::optional<at::Device>, c10::optional<bool>) {
    return at::detail::empty_strided_generic(size, stride, &allocator, keys, dtype.value_or(at::kFloat));
}

/// The same memory as a CPU's.
at::Tensor on_cpu(const at::Tensor& t) {
    if (!is_here(t)) return t;
    if (t.numel() == 0) return at::empty_strided(t.sizes(), t.strides(), t.scalar_type());
    return at::from_blob(t.data_ptr(), t.sizes(), t.strides(), at::TensorOptions().dtype(t.scalar_type()));
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool non_blocking) {
    if (!is_here(to)) note_wait("to the CPU");
    if (!is_here(self) && !non_blocking) note_wait("from the CPU, waiting");
    on_cpu(to).copy_(on_cpu(self));
    return to;
}

// -- operators --

/// On a CUDA device the host waits for these.
bool waits_for(const std::string& name) {
    return name == "aten::_local_scalar_dense" || name == "aten::nonzero" || name == "aten::masked_select" ||
           name == "aten::equal" || name == "aten::_unique2" || name == "aten::repeat_interleave";
}

template <class Map>
c10::IValue mapped(const c10::IValue& value, const Map& map) {
    if (value.isTensor()) return value.toTensor().defined() ? map(value.toTensor()) : value;
    if (value.isTensorList()) {
        c10::List<at::Tensor> out;
        for (const at::Tensor& each : value.toTensorVector()) out.push_back(map(each));
        return out;
    }
    if (value.isOptionalTensorList()) {
        c10::List<c10::optional<at::Tensor>> out;
        for (const auto& each : value.toOptionalTensorVector())
            out.push_back(each ? c10::optional<at::Tensor>(map(*each)) : each);
        return out;
    }
    if (value.isDevice() && value.toDevice().type() == at::kPrivateUse1) return at::Device(at::kCPU);
    return value;
}

at::Tensor brought_here(const at::Tensor& t) {
    if (!t.defined()) return t;
    auto out = at::empty_strided(t.sizes(), t.strides(), t.options().device(host_device()));
    on_cpu(out).copy_(t);
    return out;
}

/// An output grows from nothing to its size when it is written.
void resize(const at::Tensor& t, const at::Tensor& written) {
    if (t.sizes() == written.sizes()) return;
    const auto grown = brought_here(written);
    t.unsafeGetTensorImpl()->set_storage_keep_dtype(grown.storage());
    t.unsafeGetTensorImpl()->set_sizes_and_strides(grown.sizes(), grown.strides());
}

/// Any operator that the device has no kernel for: by the CPU's on the same memory.
void by_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const auto& schema = op.schema();
    if (waits_for(schema.name())) note_wait(schema.name());
    const auto count = schema.arguments().size();
    const std::vector<c10::IValue> given(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
    stack->resize(stack->size() - count);
    for (std::size_t i = 0; i < count; ++i) {
        const bool is_written = schema.arguments()[i].alias_info() && schema.arguments()[i].alias_info()->isWrite();
        stack->push_back(mapped(given[i], [&](const at::Tensor& t) {
            // A number of the CPU's is passed along, as to a CUDA kernel, but nothing else of it.
            TORCH_CHECK(!t.defined() || is_here(t) || (t.dim() == 0 && !is_written), schema.name(),
                        ": expected all tensors to be on the same device");
            return on_cpu(t);
        }));
    }
    const std::vector<c10::IValue> passed(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
    const at::AutoDispatchBelowADInplaceOrView below;
    op.callBoxed(stack);
    for (std::size_t i = 0; i < count; ++i)
        if (given[i].isTensor() && is_here(given[i].toTensor())) resize(given[i].toTensor(), passed[i].toTensor());
    const auto returned = schema.returns().size();
    for (std::size_t i = 0; i < returned; ++i) {
        auto& result = (*stack)[stack->size() - returned + i];
        const auto* alias = schema.returns()[i].alias_info();
        bool is_argument = false;
        for (std::size_t j = 0; alias && j < count; ++j) {
            const auto* own = schema.arguments()[j].alias_info();
            if (!own || own->beforeSets() != alias->beforeSets()) continue;
            TORCH_CHECK(own->isWrite(), schema.name(), ": a view that this device has no kernel for");
            result = given[j];
            is_argument = true;
        }
        if (!is_argument) result = mapped(result, brought_here);
    }
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&by_cpu>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("empty.memory_format", &empty);
    m.impl("empty_strided", &empty_strided);
    m.impl("_copy_from", &copy_from);
    m.impl("as_strided", &at::native::as_strided_tensorimpl);
    m.impl("view", [](const at::Tensor& t, at::IntArrayRef size) { return at::native::view(t, size); });
    m.impl("_reshape_alias", [](const at::Tensor& t, at::IntArrayRef size, at::IntArrayRef stride) {
        return at::native::_reshape_alias(t, size, stride);
    });
}

// -- streams: work is done when it is called, so they only have numbers --

struct streams final : c10::impl::DeviceGuardImplInterface {
    static c10::Stream numbered(c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, host_device(), id); }
    static c10::StreamId& current() {
        thread_local c10::StreamId id = 0;
        return id;
    }

    c10::DeviceType type() const override { return at::kPrivateUse1; }
    c10::Device exchangeDevice(c10::Device) const override { return host_device(); }
    c10::Device getDevice() const override { return host_device(); }
    void setDevice(c10::Device) const override {}
    void uncheckedSetDevice(c10::Device) const noexcept override {}
    c10::DeviceIndex deviceCount() const noexcept override { return 1; }
    c10::Stream getStream(c10::Device) const noexcept override { return numbered(current()); }
    c10::Stream getDefaultStream(c10::Device) const override { return numbered(0); }
    c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return numbered(1); }
    c10::Stream exchangeStream(c10::Stream to) const noexcept override {
        note_stream("use", to.id());
        return numbered(std::exchange(current(), to.id()));
    }
    void record(void** event, const c10::Stream& stream, c10::DeviceIndex, c10::EventFlag) const override {
        note_stream("record", stream.id());
        *event = const_cast<streams*>(this);
    }
    void block(void*, const c10::Stream& stream) const override { note_stream("block", stream.id()); }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, streams);

}  // namespace

#endif

}  // namespace rldp::testing
