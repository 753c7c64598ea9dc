// tokenizer.json.
#include "tests/fuzz/words.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto input = fuzz::to_text(bytes, size);
    fuzz::write("tokenizer.json", input);
    fuzz::check_reading(
        size, [&] { fuzz::try_words(*models::tokenizer::load_json(fuzz::directory() / "tokenizer.json"), input); });
    return 0;
}
