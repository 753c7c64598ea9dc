// tokenizer.model.
#include "tests/fuzz/words.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto input = fuzz::to_text(bytes, size);
    fuzz::write("tokenizer.model", input);
    fuzz::check_reading(size, [&] { fuzz::try_words(*models::tokenizer::load(fuzz::directory()), input); });
    return 0;
}
