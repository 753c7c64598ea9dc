// tokenizer.json, then short texts with it, there and back.
#include "models/tokenizer/tokenizer.hpp"

#include <array>

#include "tests/fuzz/reading.hpp"

using namespace rldp;

namespace {

constexpr std::size_t longest_text = 64;  // bytes

constexpr std::array<std::string_view, 5> texts = {"", "The patient's  age is 73.\n", "<s>a\xE2\x96\x81 b</s>",
                                                   "na\xC3\xAFve \xF0\x9F\x99\x82", "\xFF\xC3 \x80"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto input = fuzz::text_of(bytes, size);
    fuzz::write("tokenizer.json", input);
    fuzz::check_reading(size, [&] {
        const auto tokenizer = models::tokenizer::load_json(fuzz::directory() / "tokenizer.json");
        for (const auto text : texts) tokenizer->decode(tokenizer->encode(text));
        tokenizer->decode(tokenizer->encode(input.substr(size / 2, longest_text)));
    });
    return 0;
}
