// A safetensors file: its header, and every byte of its tensors.
#include "models/checkpoint/safetensors.hpp"

#include <numeric>

#include "tests/fuzz/reading.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    fuzz::write("model.safetensors", fuzz::to_text(bytes, size));
    fuzz::check_reading(size, [&] {
        const models::safetensors_file file(fuzz::directory() / "model.safetensors");
        std::size_t read = 0;
        for (const auto& name : file.names()) {
            const auto tensor = file.tensor(name);
            const auto* data = static_cast<const std::uint8_t*>(tensor.data_ptr());
            [[maybe_unused]] volatile const auto sum = std::accumulate(data, data + tensor.nbytes(), 0U);
            read += tensor.nbytes();
        }
        fuzz::require(read < size, "the tensors hold more than the file");
    });
    return 0;
}
