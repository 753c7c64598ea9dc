// An adapter's two files.
#include <ATen/ATen.h>

#include "tests/fuzz/reading.hpp"
#include "tests/fuzz/small_gpt2.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const auto model = fuzz::small_gpt2();
    const auto [config, tensors] = fuzz::split(bytes, size);
    fuzz::write("adapter_config.json", config);
    fuzz::write("adapter_model.safetensors", tensors);
    fuzz::check_reading(size, [&] {
        const auto adapter = models::load_adapter(fuzz::directory(), model);
        fuzz::require(adapter.flat.numel() == adapter.layout.dimension, "not as many numbers as the layout says");
        fuzz::require(at::isfinite(adapter.flat).all().item<bool>(), "numbers that are not finite");
    });
    return 0;
}
