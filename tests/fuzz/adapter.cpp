// An adapter's two files. The first two bytes of the input, little-endian, say how long adapter_config.json is.
#include <ATen/ATen.h>

#include <algorithm>

#include "models/causal_lm.hpp"
#include "tests/fuzz/reading.hpp"

using namespace rldp;

namespace {

models::model_config small_gpt2() {
    models::model_config config;
    config.model_type = "gpt2";
    config.vocab = 5;
    config.width = 2;
    config.layers = config.heads = config.kv_heads = 1;
    config.head_dim = 2;
    config.inner = 3;
    config.window = 4;
    config.activation = "gelu_new";
    return config;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const auto model = small_gpt2();
    if (size < 2) return -1;
    const auto files = fuzz::text_of(bytes + 2, size - 2);
    const auto split = std::min<std::size_t>(bytes[0] | bytes[1] << 8, files.size());
    fuzz::write("adapter_config.json", files.substr(0, split));
    fuzz::write("adapter_model.safetensors", files.substr(split));
    fuzz::check_reading(size, [&] {
        const auto adapter = models::load_adapter(fuzz::directory(), model);
        fuzz::require(adapter.flat.numel() == adapter.layout.dimension, "not as many numbers as the layout says");
        fuzz::require(at::isfinite(adapter.flat).all().item<bool>(), "numbers that are not finite");
    });
    return 0;
}
