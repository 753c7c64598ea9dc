// tokenizer_config.json and added_tokens.json beside a vocabulary that is sound: GPT-2's files, or sentencepiece's.
#include <string>

#include "models/tokenizer/text.hpp"
#include "tests/fuzz/words.hpp"

using namespace rldp;

namespace {

/// Every byte as GPT-2 spells it, and "he".
std::string bytes_and_a_word() {
    std::string out = "{";
    for (const unsigned byte : models::byte_order()) {
        const auto& spelled = models::byte_alphabet()[byte];
        out +=
            '"' + (spelled == "\"" || spelled == "\\" ? "\\" + spelled : spelled) + "\":" + std::to_string(byte) + ",";
    }
    return out + "\"he\":256}";
}

/// "a", "b", "ab" and what says that merges join them.
constexpr std::string_view pieces(
    "\x0a\x05\x0a\x01\x61\x18\x01\x0a\x05\x0a\x01\x62\x18\x01\x0a\x06\x0a\x02\x61\x62\x18\x01\x12\x02\x18\x02", 26);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const std::string vocabulary = bytes_and_a_word();
    const auto [config, added] = fuzz::split(bytes, size);
    fuzz::write("tokenizer_config.json", config);
    fuzz::write("added_tokens.json", added);
    const bool sentencepiece = size % 2 == 1;
    for (const char* name : {"tokenizer.model", "vocab.json", "merges.txt"})
        std::filesystem::remove(fuzz::directory() / name);
    if (sentencepiece) {
        fuzz::write("tokenizer.model", pieces);
    } else {
        fuzz::write("vocab.json", vocabulary);
        fuzz::write("merges.txt", "h e\n");
    }
    fuzz::check_reading(size + vocabulary.size(), [&] {
        fuzz::try_words(*models::tokenizer::load(fuzz::directory()), fuzz::to_text(bytes, size));
    });
    return 0;
}
