// A GGUF file: its header, the model that it says it is, its tensors and its tokenizer.
#include "models/architecture/family.hpp"
#include "models/gguf/gguf_model.hpp"
#include "tests/fuzz/words.hpp"

using namespace rldp;
using namespace rldp::models;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto input = fuzz::to_text(bytes, size);
    fuzz::write("model.gguf", input);
    const auto path = fuzz::directory() / "model.gguf";
    fuzz::check_reading(size, [&] {
        const gguf_file file(path);
        for (const auto& [name, unused] : file.tensors()) file.tensor(name).all_finite();
    });
    fuzz::check_reading(size, [&] {
        const gguf_file file(path);
        const auto config = read_gguf_config(file);
        for (const auto& [name, shape] : base_tensors(config)) {
            const auto tensor = read_gguf_tensor(file, config, name);
            fuzz::require(tensor.columns == shape.back(), "a tensor of another shape than the model's");
        }
        find_chat_template(file);
    });
    fuzz::check_reading(size, [&] { fuzz::try_words(*tokenizer::load(path), input); });
    return 0;
}
