// The stages that Qwen's, Gemma's and Phi-3's tokenizer.json use, on small vocabularies; expected ids are those of
// Hugging Face's tokenizers 0.23.2.
#include "models/tokenizer/text.hpp"
#include "tests/models/tokenizer/fixtures.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::test;

namespace {

json added(std::int32_t id, const std::string& content, const json& more = json::object()) {
    json out = {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
                {"rstrip", false}, {"normalized", false}, {"special", true}};
    out.update(more);
    return out;
}

json sequence(const char* of, const json& parts) {
    return {{"type", "Sequence"}, {of, parts}};
}

json replace(const char* from, const char* to) {
    return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

json merged_with_previous() {
    return {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
}

json qwen_like() {
    std::vector<std::string> tokens;
    for (const auto byte : models::byte_order()) tokens.push_back(models::byte_alphabet()[byte]);
    for (const auto* word : {"He", "ll", "llo", "Hello", "Ġt", "Ã©", "12", "'S", "!Ċ", "Ġ3"}) tokens.emplace_back(word);
    auto model = bpe_model(tokens, {{"H", "e"},
                                    {"l", "l"},
                                    {"ll", "o"},
                                    {"He", "llo"},
                                    {"Ġ", "t"},
                                    {"Ã", "©"},
                                    {"1", "2"},
                                    {"'", "S"},
                                    {"!", "Ċ"},
                                    {"Ġ", "3"}});
    model.update({{"dropout", nullptr}, {"unk_token", nullptr}, {"continuing_subword_prefix", ""}});
    const std::string words =
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    const json split = {
        {"type", "Split"}, {"pattern", {{"Regex", words}}}, {"behavior", "Isolated"}, {"invert", false}};
    const json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
    return {{"added_tokens", json::array({added(266, "<|im_start|>"), added(267, "<tool>", {{"special", false}})})},
            {"normalizer", {{"type", "NFC"}}},
            {"pre_tokenizer", sequence("pretokenizers", json::array({split, bytes}))},
            {"post_processor", bytes},
            {"decoder", bytes},
            {"model", model}};
}

json with_byte_fallback(json model) {
    model.update({{"unk_token", "<unk>"}, {"fuse_unk", true}, {"byte_fallback", true}});
    return model;
}

json gemma_like() {
    const json bos_first = {
        {"type", "TemplateProcessing"},
        {"single", json::array({{{"SpecialToken", {{"id", "<bos>"}}}}, {{"Sequence", {{"id", "A"}}}}})},
        {"special_tokens", {{"<bos>", {{"ids", {2}}}}}}};
    return {{"added_tokens", json::array({added(0, "<pad>"), added(1, "<eos>"), added(2, "<bos>"), added(3, "<unk>"),
                                          added(13, "\n\n", {{"special", false}})})},
            {"normalizer", replace(" ", "▁")},
            {"pre_tokenizer", merged_with_previous()},
            {"post_processor", bos_first},
            {"decoder",
             sequence("decoders", json::array({replace("▁", " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}}))},
            {"model", with_byte_fallback(bpe_model({"<pad>", "<eos>", "<bos>", "<unk>", "<0xC3>", "<0xA9>", "▁", "a",
                                                    "b", "▁a", "▁▁", "ab", "\n", "\n\n"},
                                                   {{"▁", "▁"}, {"▁", "a"}, {"a", "b"}}))}};
}

json phi3_like() {
    const json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
    return {
        {"added_tokens",
         json::array({added(0, "<unk>"), added(1, "<s>"), added(2, "</s>", {{"rstrip", true}, {"special", false}}),
                      added(11, "<|user|>", {{"rstrip", true}}), added(12, "<|end|>", {{"rstrip", true}}),
                      added(13, "<mask>", {{"lstrip", true}})})},
        {"normalizer",
         sequence("normalizers", json::array({{{"type", "Prepend"}, {"prepend", "▁"}}, replace(" ", "▁")}))},
        {"pre_tokenizer", nullptr},
        {"decoder",
         sequence("decoders", json::array({replace("▁", " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, strip}))},
        {"model",
         with_byte_fallback(bpe_model({"<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "<0xA9>", "▁", "a", "b", "▁a", "ab"},
                                      {{"▁", "a"}, {"a", "b"}}))}};
}

}  // namespace

TEST_CASE("Qwen composes characters, cuts every digit off, and knows contractions in capitals") {
    const auto qwen = load(qwen_like());
    CHECK(qwen->encode("Hello He'S 12 3!\n te\u0301") == ids{259, 220, 256, 263, 220, 16, 17, 220, 18, 264, 260, 261});
    CHECK(qwen->encode("<|im_start|>12<tool>é") == ids{266, 16, 17, 267, 261});
    CHECK(qwen->encode("\u212B") == qwen->encode("Å"));  // the sign of Ångström's unit is a letter
    CHECK(qwen->encode("\u212B") == ids{127, 227});
    CHECK(qwen->decode(qwen->encode("te\u0301")) == "té");
}

TEST_CASE("Gemma marks spaces, spells what it doesn't know in bytes, and begins with a token") {
    const auto gemma = load(gemma_like());
    CHECK(gemma->encode("a ab\n\n a  b") == ids{2, 7, 9, 8, 13, 9, 10, 8});
    CHECK(gemma->encode("zz a") == ids{2, 3, 9});
    CHECK(gemma->encode("é <bos>ab") == ids{2, 4, 5, 6, 2, 11});
    CHECK(gemma->encode("\n\n\n") == ids{2, 13, 12});
    CHECK(gemma->decode(gemma->encode(" é a  ab")) == " é a  ab");
}

TEST_CASE("Phi-3's tokens take the white space after them, and others that before") {
    const auto phi = load(phi3_like());
    CHECK(phi->encode("<|user|>\n a b<|end|>\u3000 \nab</s> éa") == ids{11, 9, 6, 8, 12, 9, 8, 2, 6, 4, 5, 7});
    CHECK(phi->encode("a  <mask> b <mask><|end|> <mask>a") == ids{9, 13, 6, 6, 8, 13, 12, 13, 9});
    CHECK(phi->encode("<|user|> \n<mask>") == ids{11, 13});
    CHECK(phi->decode({9, 8, 12, 6, 4, 5}) == "ab é");
    // Each token ends where its text does, with the white space that an added one takes.
    const auto cut = [&](const std::string& text) {
        const auto ends = models::token_ends(*phi, text, phi->encode(text));
        REQUIRE(ends);
        std::vector<std::string> out;
        for (std::size_t begin = 0; const auto end : *ends) {
            out.push_back(text.substr(begin, end - begin));
            begin = end;
        }
        return out;
    };
    using texts = std::vector<std::string>;
    CHECK(cut("<|user|>\n a b<|end|>\nab</s>\n") ==
          texts{"<|user|>\n ", "a", " ", "b", "<|end|>\n", "a", "b", "</s>\n"});
    CHECK(cut("a  <mask> b") == texts{"a", "  <mask>", "", " ", "b"});
    CHECK(cut("<|end|> \n<|user|>a") == texts{"<|end|> \n", "<|user|>", "a"});
}

TEST_CASE("a match is merged with the piece before it, but not with another match") {
    auto model = bpe_model({"a ", " ", "b", "b ", "a"}, {});
    model["ignore_merges"] = true;
    const auto spaced = load({{"pre_tokenizer", merged_with_previous()}, {"model", model}});
    CHECK(spaced->encode("a b  a") == ids{0, 3, 1, 4});
    CHECK(spaced->encode("  b") == ids{1, 1, 2});
}

TEST_CASE("white space at both ends, and composition") {
    CHECK(models::spaces_at_start(" \u00A0\t\u3000x ") == 7);
    CHECK(models::spaces_at_end(" x\u2009\n\u0085 ") == 7);
    CHECK(models::spaces_at_start("\u180E") == 0);
    CHECK(models::spaces_at_end("  ") == 2);
    CHECK(models::spaces_at_end("") == 0);
    const auto composed = [](std::string text) {
        models::normalize(text, models::unicode_form::nfc);
        return text;
    };
    CHECK(composed("e\u0301\u0323") == "\u1EB9\u0301");  // marks in their order, then what composes
    CHECK(composed("\u1100\u1161\u11A8") == "\uAC01");
    CHECK(composed("\uFB01") == "\uFB01");  // compatibility characters stay
    CHECK(composed("\u0344") == "\u0308\u0301");
    CHECK(composed(std::string("a\0e\u0301", 5)) == std::string("a\0\u00E9", 4));
}
