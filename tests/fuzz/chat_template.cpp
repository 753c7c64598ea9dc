// A chat template, and a conversation through it.
#include "data/chat/chat_template.hpp"

#include "tests/fuzz/reading.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const std::vector<data::chat_message> talk = {{"system", "Be brief."},
                                                         {"user", " What is a \"budget\"?\n"},
                                                         {"assistant", "<think>\nhm\n</think>\n\nA promise."},
                                                         {"user", "Größe?"}};
    fuzz::write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}})");
    fuzz::write("chat_template.jinja", fuzz::to_text(bytes, size));
    fuzz::check_reading(size, [] {
        using namespace std::chrono;
        const auto read = data::chat_template::read(fuzz::directory(), 2026y / January / 31d);
        read->render(talk, true);
        const auto all = read->conversation(talk);
        fuzz::require(all.text == read->render(talk, false), "a conversation is not its text");
        std::size_t at = 0;
        for (const auto& [begin, end] : all.answers) {
            fuzz::require(at <= begin && begin < end && end <= all.text.size(), "an answer lies outside of the text");
            at = end;
        }
    });
    return 0;
}
