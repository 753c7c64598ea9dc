// Tokenizers in GGUF files, against the same vocabulary in the files that they were converted from.
#include <sentencepiece_processor.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/models/gguf/fixtures.hpp"
#include "tests/models/tokenizer/fixtures.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::test;
using testing::gguf_writer;

namespace {

const std::vector<std::string> tokens = {"<|end|>", "a",  "b",   "c",  "Ġ",  "'",  "s",      "1",   "2",
                                         ".",       "Ċ",  "Ã",   "©",  "Ì",  "ģ",  "e",      "Ġa",  "ab",
                                         "Ġab",     "12", "121", "'s", "Ã©", "ĊĊ", "<tool>", "aba", "B"};
const std::vector<std::pair<std::string, std::string>> merges = {{"a", "b"},  {"Ġ", "ab"}, {"Ġ", "a"}, {"1", "2"},
                                                                 {"12", "1"}, {"'", "s"},  {"Ã", "©"}, {"Ċ", "Ċ"}};

/// The vocabulary with the types that a converter gives its tokens: the first is special, "<tool>" is not.
gguf_writer byte_level_file(const std::string& pre) {
    gguf_writer out;
    std::vector<std::string> lines;
    for (const auto& [left, right] : merges) lines.push_back(left + " " + right);
    std::vector<std::int32_t> types(tokens.size(), 1);
    types.front() = 3;
    types[24] = 4;
    out.add("tokenizer.ggml.model", "gpt2");
    out.add("tokenizer.ggml.pre", pre);
    out.add("tokenizer.ggml.tokens", tokens);
    out.add("tokenizer.ggml.token_type", types);
    out.add("tokenizer.ggml.merges", lines);
    out.add("tokenizer.ggml.bos_token_id", 0U);
    out.add("tokenizer.ggml.eos_token_id", 0U);
    out.add("tokenizer.ggml.add_bos_token", false);
    return out;
}

json same_as_json(const json& normalizer, const json& steps, bool ignore_merges) {
    auto model = bpe_model(tokens, merges);
    model["ignore_merges"] = ignore_merges;
    const auto added = [](int id, bool special) {
        return json{
            {"id", id}, {"content", tokens[static_cast<std::size_t>(id)]}, {"normalized", false}, {"special", special}};
    };
    return {{"added_tokens", {added(0, true), added(24, false)}},
            {"normalizer", normalizer},
            {"pre_tokenizer", steps},
            {"decoder", {{"type", "ByteLevel"}}},
            {"model", model}};
}

json split_then_bytes(const std::string& pattern) {
    return {{"type", "Sequence"},
            {"pretokenizers",
             {{{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", pattern}}}},
              {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
}

std::unique_ptr<const models::tokenizer> load_gguf(const gguf_writer& made) {
    const scratch_directory scratch;
    return models::tokenizer::load(scratch.write("m.gguf", made.bytes()));
}

std::string random_text(std::mt19937& random) {
    static const std::vector<std::string> parts = {"a",       "b",      "ab", " ab",  " ",   "  ", "1",
                                                   "12",      "1212",   "\n", "\n\n", "'s",  "é",  "e\xCC\x81",
                                                   "<|end|>", "<tool>", ".",  "aba",  " a.", "B",  "c"};
    std::string out;
    for (auto n = random() % 16; n > 0; --n) out += parts[random() % parts.size()];
    return out;
}

}  // namespace

TEST_CASE("byte-level BPE of a GGUF file gives what its tokenizer.json gives") {
    const json plain = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
    const json digits = {{"type", "Sequence"},
                         {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, plain}}};
    const std::string words = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)",
                      rest = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    const std::vector<std::pair<std::string, json>> table = {
        {"gpt-2", same_as_json(nullptr, plain, false)},
        {"smollm", same_as_json(nullptr, digits, false)},
        {"llama-bpe", same_as_json(nullptr, split_then_bytes(words + R"(\p{N}{1,3})" + rest), true)},
        {"qwen2", same_as_json({{"type", "NFC"}}, split_then_bytes(words + R"(\p{N})" + rest), false)}};
    std::vector<ids> of_one_text;
    for (const auto& [pre, description] : table) {
        const auto theirs = load(description);
        const auto ours = load_gguf(byte_level_file(pre));
        CHECK(ours->size() == theirs->size());
        std::mt19937 random(58);
        for (int i = 0; i < 2000; ++i) {
            const auto text = random_text(random);
            INFO(pre << ": " << text);
            const auto expected = theirs->encode(text);
            REQUIRE(ours->encode(text) == expected);
            REQUIRE(ours->decode(expected) == theirs->decode(expected));
        }
        of_one_text.push_back(ours->encode("121 aba\n\ne\xCC\x81"));
    }
    for (std::size_t i = 0; i < of_one_text.size(); ++i)  // the names tell different ways apart
        for (std::size_t j = 0; j < i; ++j) CHECK(of_one_text[i] != of_one_text[j]);
}

TEST_CASE("what stands before and behind a text is as the metadata say") {
    auto made = byte_level_file("gpt-2");
    made.add("tokenizer.ggml.eos_token_id", 24U);
    CHECK(load_gguf(made)->encode("a") == ids{1});
    made.add("tokenizer.ggml.add_bos_token", true);
    CHECK(load_gguf(made)->encode("a") == ids{0, 1});
    made.add("tokenizer.ggml.add_eos_token", true);
    CHECK(load_gguf(made)->encode("a") == ids{0, 1, 24});
    made.add("tokenizer.ggml.add_eos_token", false);
    made.remove("tokenizer.ggml.add_bos_token");
    CHECK(load_gguf(made)->encode("a") == ids{1});
    made.add("tokenizer.ggml.pre", "llama-bpe");  // whose texts begin, unless that is denied
    CHECK(load_gguf(made)->encode("a") == ids{0, 1});
    const auto words = load_gguf(made);
    CHECK(words->decode({0, 17, 24}) == "ab<tool>");
    CHECK(words->added(0).text == "<|end|>");
    CHECK(words->added(1).text.empty());
}

TEST_CASE("a vocabulary that is padded has tokens that no text becomes") {
    auto made = byte_level_file("llama-bpe");
    auto padded = tokens;
    padded.emplace_back("ac");
    padded.emplace_back("ca");
    std::vector<std::int32_t> types(padded.size(), 1);
    types.back() = 5;
    made.add("tokenizer.ggml.tokens", padded);
    made.add("tokenizer.ggml.token_type", types);
    const auto words = load_gguf(made);
    CHECK(words->size() == static_cast<std::int64_t>(padded.size()));
    CHECK(words->encode("ac") == ids{27});  // whole words of the vocabulary need no merge here
    CHECK(words->encode("ca") == ids{3, 1});
    CHECK(words->decode({28}) == "ca");
}

TEST_CASE("golden: sentencepiece's BPE in a GGUF file gives libsentencepiece's ids") {
    const std::filesystem::path data = "../shared/data";
    if (!std::filesystem::exists(data)) {
        WARN("skipped: no shared data");
        return;
    }
    static const std::vector<std::string> parts = {"the ",   "once", "Lily", " ",     "  ",  "ing", "é", "日本",
                                                   "\n",     "😀",    "a",    "b",     "\t",  ".",   "▁", "1",
                                                   "250.83", "aaaa", "diab", "etes ", "is ", "X9"};
    for (const auto& [name, collapses] : std::vector<std::pair<std::string, bool>>{
             {"stories260K/tokenizer.model", true}, {"tokenizers/mistral/tokenizer.model.v1", false}}) {
        sentencepiece::SentencePieceProcessor theirs;
        REQUIRE(theirs.LoadFromSerializedProto(read_file(data / name)).ok());
        std::vector<std::string> pieces;
        std::vector<float> scores;
        std::vector<std::int32_t> types;
        for (int id = 0; id < theirs.GetPieceSize(); ++id) {
            pieces.push_back(theirs.IdToPiece(id));
            scores.push_back(theirs.GetScore(id));
            types.push_back(theirs.IsUnknown(id) ? 2 : theirs.IsControl(id) ? 3 : theirs.IsByte(id) ? 6 : 1);
        }
        gguf_writer made;
        made.add("tokenizer.ggml.model", "llama");
        made.add("tokenizer.ggml.tokens", pieces);
        made.add("tokenizer.ggml.scores", scores);
        made.add("tokenizer.ggml.token_type", types);
        made.add("tokenizer.ggml.bos_token_id", 1U);
        made.add("tokenizer.ggml.add_bos_token", false);
        if (collapses) made.add("tokenizer.ggml.remove_extra_whitespaces", true);
        const auto ours = load_gguf(made);
        CHECK(ours->size() == theirs.GetPieceSize());
        std::mt19937 random(1);
        for (int i = 0; i < 2000; ++i) {
            std::string text;
            for (auto n = random() % 16; n > 0; --n) text += parts[random() % parts.size()];
            INFO(name << ": " << text);
            const auto expected = theirs.EncodeAsIds(text);
            REQUIRE(ours->encode(text) == expected);
            REQUIRE(ours->decode(expected) == theirs.DecodeIds(expected));
        }
        made.remove("tokenizer.ggml.add_bos_token");
        CHECK(load_gguf(made)->encode("a").front() == 1);
        if (collapses) continue;
        made.add("tokenizer.ggml.add_space_prefix", false);
        auto begun = ours->encode("once");
        begun.insert(begun.begin(), 1);
        CHECK(load_gguf(made)->encode(" once") == begun);
    }
}

TEST_CASE("Phi-3's tokens take the white space behind them along") {
    gguf_writer made;
    made.add("tokenizer.ggml.model", "llama");
    made.add("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "</s>", "▁", "a", "<|end|>"});
    made.add("tokenizer.ggml.scores", std::vector<float>(6));
    made.add("tokenizer.ggml.token_type", std::vector<std::int32_t>{2, 3, 4, 1, 1, 3});
    made.add("tokenizer.ggml.add_bos_token", false);
    made.add("tokenizer.ggml.add_space_prefix", false);
    const std::string text = "a<|end|> \n a</s> a<s> a";
    CHECK(load_gguf(made)->encode(text) == ids{4, 5, 3, 0, 3, 4, 2, 3, 4, 1, 3, 4});
    made.add("general.architecture", "phi3");
    CHECK(load_gguf(made)->encode(text) == ids{4, 5, 4, 2, 4, 1, 3, 4});
}

TEST_CASE("a vocabulary that can't be read is refused in one line that names key or token") {
    const std::vector<std::pair<std::function<void(gguf_writer&)>, std::string>> table = {
        {[](auto& f) { f.remove("tokenizer.ggml.model"); }, "'tokenizer.ggml.model' is missing"},
        {[](auto& f) { f.add("tokenizer.ggml.model", "t5"); },
         "is 't5'; vocabularies of kind gpt2 (byte-level BPE) and llama (sentencepiece's BPE) are read"},
        {[](auto& f) { f.remove("tokenizer.ggml.pre"); }, "nothing says how texts are cut"},
        {[](auto& f) { f.add("tokenizer.ggml.pre", "falcon"); },
         "is 'falcon'; gpt-2, smollm, llama-bpe, qwen2, tekken are"},
        {[](auto& f) { f.add("tokenizer.ggml.pre", ""); }, "is ''"},
        {[](auto& f) { f.remove("tokenizer.ggml.tokens"); }, "'tokenizer.ggml.tokens' is missing"},
        {[](auto& f) { f.add("tokenizer.ggml.tokens", std::vector<std::string>{}); },
         "'tokenizer.ggml.token_type' has 27"},
        {[](auto& f) { f.remove("tokenizer.ggml.merges"); }, "'tokenizer.ggml.merges' is missing"},
        {[](auto& f) {
             f.add("tokenizer.ggml.merges", std::vector<std::string>{"a b", "ab"});
         },
         "tokenizer.ggml.merges[1]: must be two tokens"},
        {[](auto& f) { f.add("tokenizer.ggml.merges", std::vector<std::string>{"a z"}); },
         "tokenizer.ggml.merges[0]: \"z\" is not in the vocabulary"},
        {[](auto& f) { f.add("tokenizer.ggml.token_type", std::vector<std::int32_t>(27, 7)); },
         "holds 7, which is no type"},
        {[](auto& f) { f.add("tokenizer.ggml.token_type", std::vector<std::int32_t>(26, 1)); },
         "has 26 values, but there are 27 tokens"},
        {[](auto& f) { f.add("tokenizer.ggml.bos_token_id", 27U); }, "is 27, but there are 27 tokens"},
        {[](auto& f) {
             f.tensor("token_embd.weight", {26, 1}, count_up(26));
         },
         "has 27 tokens, but tensor 'token_embd.weight' has 26 rows"},
        {[](auto& f) {
             auto twice = tokens;
             twice[3] = "a";
             f.add("tokenizer.ggml.tokens", twice);
         },
         "tokenizer.ggml.tokens[3] has the text of token 1"},
        {[](auto& f) {
             auto bad = tokens;
             bad[3] = "\xFF";
             f.add("tokenizer.ggml.tokens", bad);
         },
         "tokenizer.ggml.tokens[3]: text must be UTF-8"},
        {[](auto& f) { f.add("tokenizer.ggml.model", "llama"); }, "'tokenizer.ggml.scores' is missing"},
        {[](auto& f) {
             f.add("tokenizer.ggml.model", "llama");
             f.add("tokenizer.ggml.scores", std::vector<float>(3));
         },
         "has 3 values, but there are 27 tokens"},
        {[](auto& f) {
             f.add("tokenizer.ggml.model", "llama");
             f.add("tokenizer.ggml.scores", std::vector<float>(27, NAN));
         },
         "tokenizer.ggml.tokens[0]: score must be finite"}};
    for (const auto& [change, answer] : table) {
        auto made = byte_level_file("gpt-2");
        change(made);
        const auto line = refusal([&] { load_gguf(made); });
        INFO(answer << " / " << line);
        CHECK(has(line, answer));
        CHECK(has(line, "m.gguf: "));
    }
    CHECK(has(refusal([] { models::tokenizer::load("/nowhere/m.gguf"); }), "/nowhere/m.gguf: "));
}
