// model.safetensors.index.json beside two shards: one holds a model, the other is none.
#include <ATen/ATen.h>

#include "models/architecture/family.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/weights.hpp"
#include "tests/fuzz/reading.hpp"
#include "tests/fuzz/small_gpt2.hpp"

using namespace rldp;

namespace {

bool write_shards(const models::model_config& model) {
    std::map<std::string, at::Tensor> tensors;
    for (const auto& [name, shape] : models::base_tensors(model)) tensors[name] = at::zeros(shape);
    models::save_safetensors(fuzz::directory() / "a.safetensors", tensors, {});
    fuzz::write("b.safetensors", "no tensors");
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const auto model = fuzz::small_gpt2();
    [[maybe_unused]] static const bool written = write_shards(model);
    fuzz::write("model.safetensors.index.json", fuzz::to_text(bytes, size));
    fuzz::check_reading(size, [&] {
        const auto weights = models::load_weights(fuzz::directory(), model, std::nullopt, at::kCPU).weights.numbers;
        fuzz::require(weights.size() == models::base_tensors(model).size(), "tensors are missing");
    });
    return 0;
}
