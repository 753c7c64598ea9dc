#include <algorithm>
#include <random>

#include "base/error.hpp"
#include "models/tokenizer/text.hpp"
#include "tests/models/tokenizer/fixtures.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::test;
using models::train_byte_level_bpe;

TEST_CASE("training merges the commonest pair, of equals the one with the lowest ids") {
    // By hand: "a a" 4 times; then "aa a" and "a b" twice each, and a's id is lower; then "aa ab" twice.
    const auto learned = json::parse(train_byte_level_bpe({"aaabdaaabac"}, 260));
    CHECK(learned["model"]["merges"] == json({"a a", "a b", "aa ab"}));
    CHECK(learned["model"]["vocab"]["!"] == 0);
    CHECK(learned["model"]["vocab"]["aaab"] == 258);
    CHECK(learned["model"]["vocab"]["<|endoftext|>"] == 259);
    const auto tokenizer = load(learned);
    CHECK(tokenizer->size() == 260);
    CHECK(tokenizer->encode("aaabdaaabac<|endoftext|>") == ids{258, 67, 258, 64, 66, 259});
}

TEST_CASE("merges never cross words, and a vocabulary is filled to its size") {
    const auto learned = json::parse(train_byte_level_bpe({"abc abc abc bc bc bc bc ab ab ab ab ab"}, 263));
    CHECK(learned["model"]["vocab"].size() == 263);
    for (const auto& [piece, id] : learned["model"]["vocab"].items())
        if (piece.size() > 2) CHECK(piece.find("Ġ", 1) == std::string::npos);
}

TEST_CASE("training is deterministic, and what it learns reads any text back") {
    std::mt19937 random(2);
    std::vector<std::string> texts(200);
    for (auto& text : texts)
        for (int k = 0; k < 40; ++k)
            text += std::string(1, static_cast<char>('a' + random() % 9)) + (random() % 4 == 0 ? " " : "");
    const auto learned = train_byte_level_bpe(texts, 400);
    CHECK(learned == train_byte_level_bpe(texts, 400));
    const auto tokenizer = load(json::parse(learned));
    std::size_t tokens = 0, bytes = 0;
    for (const auto& text : texts) {
        const auto found = tokenizer->encode(text);
        tokens += found.size();
        bytes += text.size();
        REQUIRE(tokenizer->decode(found) == text);
    }
    CHECK(tokens * 3 < bytes * 2);  // it does compress
    CHECK(tokenizer->decode(tokenizer->encode("日本 \xFF")) == models::to_utf8("日本 \xFF"));
}

TEST_CASE("a vocabulary that can't be learned is refused") {
    CHECK_THROWS_AS(train_byte_level_bpe({"abc"}, 256), error);
    CHECK_THROWS_AS(train_byte_level_bpe({"abc"}, 300), error);
    CHECK_NOTHROW(train_byte_level_bpe({}, 257));
}
