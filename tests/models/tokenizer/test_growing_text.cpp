#include "models/tokenizer/tokenizer.hpp"

#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::models;

namespace {

/// What is shown of a text, token by token, until it ends.
std::string shown(const std::string& whole, const std::vector<std::string>& stop) {
    const auto words = tokenizer::load("config/tiny-gpt2");
    growing_text text(*words, words->encode("The"), stop);
    std::string out;
    std::vector<std::int32_t> made;
    bool ended = false;
    for (const auto token : words->encode(whole)) {
        made.push_back(token);
        ended = text.take(made);
        const auto news = text.news(ended);
        CHECK_FALSE(has(news, "\xEF\xBF\xBD"));
        out += news;
        if (ended) break;
    }
    if (!ended) out += text.news(true);
    CHECK(out == text.text());
    return out;
}

}  // namespace

TEST_CASE("a growing text shows whole letters, in the end all of them") {
    for (const std::string text : {" patient", " é 😀 ward", " 名前は田中です。"}) CHECK(shown(text, {}) == text);
}

TEST_CASE("a growing text never shows a stop string, nor what may become one") {
    CHECK(shown(" one two three", {"two"}) == " one ");
    CHECK(shown(" one two three", {"three", "two"}) == " one ");
    CHECK(shown(" one tw", {"two"}) == " one tw");
    CHECK(shown(" 😀 é 名", {"é"}) == " 😀 ");
}
