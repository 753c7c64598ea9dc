// GPT-2's vocab.json and merges.txt.
#include "tests/fuzz/words.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto [vocabulary, merges] = fuzz::split(bytes, size);
    fuzz::write("vocab.json", vocabulary);
    fuzz::write("merges.txt", merges);
    fuzz::check_reading(
        size, [&] { fuzz::try_words(*models::tokenizer::load(fuzz::directory()), fuzz::to_text(bytes, size)); });
    return 0;
}
