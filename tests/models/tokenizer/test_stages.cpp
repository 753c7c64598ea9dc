// What stands around the model: UTF-8, patterns, added tokens, templates, decoders.
#include <random>
#include <thread>

#include "base/error.hpp"
#include "models/regex/regex.hpp"
#include "models/tokenizer/text.hpp"
#include "tests/models/tokenizer/fixtures.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::test;

namespace {

/// Every byte as GPT-2 spells it, then `more`.
std::vector<std::string> byte_tokens(const std::vector<std::string>& more) {
    std::vector<std::string> out;
    for (const auto byte : models::byte_order()) out.push_back(models::byte_alphabet()[byte]);
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

const std::string llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

json added(std::int32_t id, const std::string& content, bool special) {
    return {{"id", id}, {"content", content}, {"special", special}, {"normalized", false}};
}

/// A tokenizer.json laid out like Llama 3's.
json llama3_like(const std::vector<std::string>& words) {
    auto model = bpe_model(byte_tokens(words), {});
    model["ignore_merges"] = true;
    const auto bos = static_cast<std::int32_t>(256 + words.size());
    const json split = {
        {"type", "Split"}, {"pattern", {{"Regex", llama3_pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
    const json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
    const json bos_first = {
        {"type", "TemplateProcessing"},
        {"single", json::array({{{"SpecialToken", {{"id", "<|bos|>"}}}}, {{"Sequence", {{"id", "A"}}}}})},
        {"special_tokens", {{"<|bos|>", {{"ids", {bos}}}}}}};
    return {{"added_tokens", json::array({added(bos, "<|bos|>", true), added(bos + 1, "<|bos|>!", false)})},
            {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", json::array({split, bytes})}}},
            {"post_processor", {{"type", "Sequence"}, {"processors", json::array({bytes, bos_first})}}},
            {"decoder", byte_level},
            {"model", model}};
}

}  // namespace

TEST_CASE("ASCII is cut into GPT-2's words as its pattern cuts it") {
    const models::regex words(models::gpt2_pattern, "the pattern");
    std::mt19937_64 random(3);
    const std::string frequent = "  \t\n\r'''stmdrevlSTab09.,-\x1c";
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        for (auto left = random() % 24; left > 0; --left)
            text += random() % 4 > 0 ? frequent[random() % frequent.size()] : static_cast<char>(random() % 128);
        std::vector<std::size_t> ends, expected;
        for (std::size_t at = 0; at < text.size(); ends.push_back(at)) at = models::gpt2_word_end(text, at);
        for (const auto& match : words.matches(text)) expected.push_back(match.end);
        INFO(nlohmann::json(text).dump());
        REQUIRE(ends == expected);
    }
    CHECK(models::is_ascii("\x7f"));
    CHECK_FALSE(models::is_ascii("a\x80"));
}

TEST_CASE("several threads get the same ids from one tokenizer, for words known and new") {
    std::mt19937_64 random(4);
    std::vector<std::string> texts(200);
    for (auto& text : texts)
        for (int i = 0; i < 50; ++i) text += " " + std::to_string(random() % 3000);
    const json description = {{"pre_tokenizer", byte_level},
                              {"model", bpe_model(byte_tokens({"12", "123"}), {{"1", "2"}, {"12", "3"}})}};
    const auto alone = load(description), shared = load(description);
    std::vector<ids> expected, found(4 * texts.size());
    for (const auto& text : texts) expected.push_back(alone->encode(text));
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < 4; ++t)
            threads.emplace_back([&, t] {
                for (std::size_t i = 0; i < texts.size(); ++i) found[t * texts.size() + i] = shared->encode(texts[i]);
            });
    }
    for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(found[i] == expected[i % texts.size()]);
}

TEST_CASE("invalid UTF-8 becomes one U+FFFD per maximal invalid part") {
    const std::string bad = "\xEF\xBF\xBD";
    CHECK(models::to_utf8("plain text, long enough for words of eight \xC3\xA9") ==
          "plain text, long enough for words of eight é");
    CHECK(models::to_utf8("a\xFFz") == "a" + bad + "z");
    CHECK(models::to_utf8("\xE2\x96") == bad);
    CHECK(models::to_utf8("\xED\xA0\x80") == bad + bad + bad);
    CHECK(models::to_utf8("\xC0\xAF") == bad + bad);
    CHECK(models::to_utf8("\xE0\x80\xAF") == bad + bad + bad);
    CHECK(models::to_utf8("\xF0\x80\x80\xAF") == bad + bad + bad + bad);
    CHECK(models::to_utf8("\xF0\x9F\x98 x") == bad + " x");
    CHECK(models::to_utf8("\xF4\x90\x80\x80") == bad + bad + bad + bad);
}

TEST_CASE("white space is Unicode's") {
    const models::regex spaces("\\s+", "test");
    for (const std::string space : {" ", "\t", "\n", "\r", "\xC2\x85", "\xC2\xA0", "\xE3\x80\x80", "\xE2\x80\xA8"})
        CHECK(spaces.matches(space).size() == 1);
    CHECK(spaces.matches("\xE1\xA0\x8E").empty());  // U+180E left the class in Unicode 6.3
    CHECK(models::regex("[^\\s]+", "test").matches("a\xE1\xA0\x8E b").size() == 2);
}

TEST_CASE("Llama 3's split cuts where tiktoken's does") {
    // Every piece is a word of the vocabulary, so that ids show the cuts.
    const std::vector<std::string> words = {"He",  "'S",  "Ġ",   "123",  "4",   "Ġtall",
                                            "!ĊĊ", "Yes", "Ġok", "#tag", "ĠĠĊ", "ĠĠ"};
    const auto llama = load(llama3_like(words));
    const auto names = [&](const std::string& text) {
        std::vector<std::string> out;
        const auto found = llama->encode(text);
        for (std::size_t i = 1; i < found.size(); ++i) out.push_back(llama->decode({found[i]}));
        return out;
    };
    using list = std::vector<std::string>;
    CHECK(names("He'S 1234 tall!\n\nYes  ok") ==
          list{"He", "'S", " ", "123", "4", " tall", "!\n\n", "Yes", " ", " ok"});
    CHECK(names("#tag  \nYes   ok") == list{"#tag", "  \n", "Yes", "  ", " ok"});
    CHECK(llama->encode("He").front() == 256 + static_cast<std::int32_t>(words.size()));
}

TEST_CASE("added tokens are found in the text, the longest first, special ones vanish in decoding") {
    const auto llama = load(llama3_like({"He"}));
    CHECK(llama->size() == 259);
    CHECK(llama->encode("<|bos|>He<|bos|>!He") == ids{257, 257, 256, 258, 256});
    CHECK(llama->decode({257, 256, 258, 256}) == "He<|bos|>!He");
    CHECK(llama->encode("") == ids{257});
    // A model's vocabulary may be padded beyond its tokenizer's: such an id has no text.
    CHECK(llama->decode({259}).empty());
    CHECK_THROWS_AS(llama->decode({-1}), error);
}

TEST_CASE("pre-tokenizers cut where Hugging Face's do") {
    // A last step that puts a space before every piece shows the cuts; expected: tokenizers 0.23.
    const auto cuts = [](const json& step, const std::string& text) {
        auto bytes = byte_level;
        bytes["add_prefix_space"] = true;
        bytes["use_regex"] = false;
        const auto words =
            load({{"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", json::array({step, bytes})}}},
                  {"decoder", byte_level},
                  {"model", bpe_model(byte_tokens({}), {})}});
        return words->decode(words->encode(text));
    };
    CHECK(cuts({{"type", "Digits"}, {"individual_digits", true}}, "ab12½c") == " ab 1 2 ½ c");
    CHECK(cuts({{"type", "Digits"}}, "ab12½c٣") == " ab 12½ c ٣");
    CHECK(cuts({{"type", "Punctuation"}}, "a.,b$—c") == " a . , b $ — c");
    CHECK(cuts({{"type", "Punctuation"}, {"behavior", "Contiguous"}}, "a.,b") == " a ., b");
    CHECK(cuts({{"type", "WhitespaceSplit"}}, "a\t b\u3000c.") == " a b c.");
    CHECK(cuts({{"type", "Whitespace"}}, "don't ½x\u200Dy!?") == " don ' t ½ x\u200Dy !?");
    CHECK(cuts({{"type", "CharDelimiterSplit"}, {"delimiter", "é"}}, "aébéé") == " a b");
    CHECK(cuts({{"type", "UnicodeScripts"}}, " abc где カナかな漢字ー1") == " abc  где  カナかな漢字ー 1");
    const auto split = [&](const char* behavior, bool invert, const char* expression) {
        return cuts(
            {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", behavior}, {"invert", invert}},
            "a1bb22c");
    };
    CHECK(split("Removed", false, "\\d") == " a bb c");
    CHECK(split("Removed", true, "\\d") == " 1 2 2");
    CHECK(split("Isolated", false, "\\d") == " a 1 bb 2 2 c");
    CHECK(split("MergedWithPrevious", false, "\\d") == " a1 bb2 2 c");
    CHECK(split("MergedWithPrevious", true, "\\d") == " a 1bb 2 2c");
    CHECK(split("MergedWithNext", false, "\\d") == " a 1bb 2 2c");
    CHECK(split("Contiguous", false, "\\d") == " a 1 bb 22 c");
    CHECK(split("Isolated", false, "(?=\\d)") == " a 1bb 2 2c");  // an empty match cuts too
    // Honest patterns take a step for each of many blanks, and each of them again.
    const auto far = cuts({{"type", "Split"}, {"pattern", {{"Regex", "\\s+$|a"}}}, {"behavior", "Isolated"}},
                          "b" + std::string(5000, ' ') + "ab");
    CHECK(far.ends_with(" a b"));
    // What PCRE2 reads in another sense: classes that meet, a plus behind a counted repeat, nested classes.
    CHECK(split("Isolated", false, "[\\p{L}&&[^b]]+|\\d{1,3}+") == " a 1 bb 22 c");
    CHECK(split("Isolated", false, "[\\d[bc]]+") == " a 1bb22c");
    CHECK(cuts({{"type", "Split"}, {"pattern", {{"Regex", "\\h+"}}}, {"behavior", "Isolated"}}, "xbad1z") ==
          " x bad1 z");
    CHECK(cuts({{"type", "Split"}, {"pattern", {{"Regex", "[[:punct:]]+"}}}, {"behavior", "Isolated"}}, "a.$€b") ==
          " a .$€ b");
}

TEST_CASE("normalizers change texts as Hugging Face's do") {
    const auto changed = [](const json& step, const std::string& text) {
        const auto words = load({{"normalizer", step},
                                 {"pre_tokenizer", byte_level},
                                 {"decoder", byte_level},
                                 {"model", bpe_model(byte_tokens({}), {})}});
        return words->decode(words->encode(text));
    };
    CHECK(changed({{"type", "NFD"}}, "\u00E9\uFB01") == "e\u0301\uFB01");
    CHECK(changed({{"type", "NFKC"}}, "\u00E9\uFB01\u00BD") == "\u00E9fi1\u20442");
    CHECK(changed({{"type", "NFKD"}}, "\u00E9\uFB01") == "e\u0301fi");
    CHECK(changed({{"type", "Lowercase"}}, "AÉİΣ") == "aéi\u0307σ");
    CHECK(changed({{"type", "StripAccents"}}, "e\u0301\u0903x") == "ex");
    CHECK(changed({{"type", "Strip"}}, "\t a b\u3000") == "a b");
    CHECK(changed({{"type", "Strip"}, {"strip_right", false}}, " a ") == "a ");
}

TEST_CASE("any bytes go through and come back as their valid form") {
    auto description = llama3_like({});
    description["post_processor"] = nullptr;
    const auto tokenizer = load(description);
    std::mt19937 random(11);
    for (int i = 0; i < 500; ++i) {
        std::string bytes;
        for (auto n = random() % 60; n > 0; --n)
            bytes += static_cast<char>(random() % 4 == 0 ? random() % 256 : random() % 128);
        REQUIRE(tokenizer->decode(tokenizer->encode(bytes)) == models::to_utf8(bytes));
    }
}

TEST_CASE("prefix spaces, marks and the decoders that undo them") {
    SECTION("ByteLevel with a prefix space") {
        auto bytes = byte_level;
        bytes["add_prefix_space"] = true;
        const auto roberta = load({{"pre_tokenizer", bytes},
                                   {"decoder", byte_level},
                                   {"model", bpe_model(byte_tokens({"Ġa"}), {{"Ġ", "a"}})}});
        CHECK(roberta->encode("a") == ids{256});
        CHECK(roberta->encode(" a") == ids{256});
    }
    SECTION("Metaspace, split at each mark, prepended always, first or never") {
        const auto with = [](const char* scheme) {
            const json metaspace = {
                {"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}, {"split", true}};
            return load({{"added_tokens", json::array({added(4, "<x>", false)})},
                         {"pre_tokenizer", metaspace},
                         {"decoder", metaspace},
                         {"model", bpe_model({"▁", "a", "▁a", "a▁"}, {{"a", "▁"}, {"▁", "a"}})}});
        };
        CHECK(with("always")->encode("a a<x>a") == ids{2, 2, 4, 2});
        CHECK(with("first")->encode("a a<x>a") == ids{2, 2, 4, 1});
        CHECK(with("never")->encode("a a<x>a") == ids{1, 2, 4, 1});
        CHECK(with("always")->decode({2, 2, 4}) == "a a<x>");
        CHECK(with("never")->decode({2, 2}) == " a a");
    }
    SECTION("prepended first, unless a step before took the text's beginning away") {
        const auto after = [](const json& normalizer, const json& splitter) {
            const json metaspace = {{"type", "Metaspace"}, {"prepend_scheme", "first"}, {"split", false}};
            return load({{"normalizer", normalizer},
                         {"pre_tokenizer",
                          {{"type", "Sequence"},
                           {"pretokenizers",
                            splitter.is_null() ? json::array({metaspace}) : json::array({splitter, metaspace})}}},
                         {"model", bpe_model({"▁", "a", "▁a", "\u0301"}, {{"▁", "a"}})}});
        };
        const json strip = {{"type", "Strip"}}, accents = {{"type", "StripAccents"}};
        const auto replace = [](const char* expression) {
            return json{{"type", "Replace"}, {"pattern", {{"Regex", expression}}}, {"content", ""}};
        };
        const auto split = [](const char* behavior) {
            return json{{"type", "Split"}, {"pattern", {{"Regex", " +"}}}, {"behavior", behavior}, {"invert", false}};
        };
        for (const auto& lost :
             {after(strip, nullptr)->encode(" a"), after(nullptr, {{"type", "UnicodeScripts"}})->encode(" a"),
              after(accents, nullptr)->encode("\u0301a"), after(replace("^ +"), nullptr)->encode(" a"),
              after(nullptr, {{"type", "WhitespaceSplit"}})->encode(" a"),
              after(nullptr, {{"type", "Whitespace"}})->encode(" a"), after(nullptr, split("Removed"))->encode(" a")})
            CHECK(lost == ids{1});
        for (const auto& kept :
             {after(strip, nullptr)->encode("a "), after(accents, nullptr)->encode("a\u0301"),
              after(replace(" +$"), nullptr)->encode("a "), after(nullptr, {{"type", "WhitespaceSplit"}})->encode("a "),
              after(nullptr, split("Removed"))->encode("a ")})
            CHECK(kept == ids{2});
        // A space that stays bears the mark itself.
        CHECK(after(nullptr, split("Isolated"))->encode(" a") == ids{0, 1});
        CHECK(after(nullptr, split("MergedWithNext"))->encode(" a") == ids{2});
    }
    SECTION("bytes that are no UTF-8 decode to U+FFFD each") {
        const auto llama =
            load({{"decoder",
                   {{"type", "Sequence"}, {"decoders", json::array({{{"type", "ByteFallback"}}, {{"type", "Fuse"}}})}}},
                  {"model", bpe_model({"<0xC3>", "<0xA9>", "x"}, {})}});
        CHECK(llama->decode({0, 1, 2}) == "éx");
        CHECK(llama->decode({1, 0, 2, 0}) == "\xEF\xBF\xBD\xEF\xBF\xBDx\xEF\xBF\xBD");
    }
}
