// Directories without a tokenizer.json: what tokenizer_class means, and which tokens stand in texts.
#include <cstring>

#include "base/error.hpp"
#include "models/tokenizer/text.hpp"
#include "tests/models/tokenizer/fixtures.hpp"
#include "tests/support/refusal.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::test;
using models::tokenizer;

namespace {

/// A directory with what a test writes into it.
struct model_directory {
    std::shared_ptr<const scratch_directory> scratch = std::make_shared<const scratch_directory>();

    model_directory& with(const std::string& file, const json& content) {
        scratch->write(file, content.is_string() ? content.get<std::string>() : content.dump());
        return *this;
    }
    std::unique_ptr<const tokenizer> load() const { return tokenizer::load(scratch->path()); }
    ids encode(const std::string& text) const { return load()->encode(text); }
};

/// All bytes, "he" 256 and "Ġhe" 257.
json byte_vocabulary() {
    json out = json::object();
    for (const auto byte : models::byte_order()) out[models::byte_alphabet()[byte]] = out.size();
    out["he"] = 256;
    out["Ġhe"] = 257;
    return out;
}

model_directory byte_level_directory() {
    model_directory out;
    out.with("vocab.json", byte_vocabulary()).with("merges.txt", "#version: 0.2\nh e\nĠ he\n");
    return out;
}

// -- sentencepiece's protocol buffer --

enum piece_type : char { normal = 1, unknown = 2, control = 3, defined = 4 };

std::string field(char number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

std::string piece(const std::string& text, piece_type type, char score) {
    // Scores are floats that fall with `score`.
    const float value = -static_cast<float>(score);
    std::string bits(sizeof value, '\0');
    std::memcpy(bits.data(), &value, sizeof value);
    return field(1, field(1, text) + "\x15" + bits + "\x18" + static_cast<char>(type));
}

/// 0 <unk>, 1 <s>, 2 </s>, 3 [X], 4 ▁, 5 a, 6 b, 7 ▁a, 8 ab.
std::string small_model() {
    return piece("<unk>", unknown, 0) + piece("<s>", control, 0) + piece("</s>", control, 0) +
           piece("[X]", defined, 0) + piece("▁", normal, 1) + piece("a", normal, 2) + piece("b", normal, 3) +
           piece("▁a", normal, 4) + piece("ab", normal, 5) + field(2, "\x18\x02");
}

model_directory llama_directory(json settings) {
    settings["tokenizer_class"] = "LlamaTokenizer";
    model_directory out;
    out.with("tokenizer.model", small_model()).with("tokenizer_config.json", settings);
    return out;
}

}  // namespace

TEST_CASE("Qwen2's vocabulary and merges are read with its pattern and its composed letters") {
    auto directory = byte_level_directory();
    directory.with("tokenizer_config.json",
                   {{"tokenizer_class", "Qwen2TokenizerFast"},
                    {"eos_token", "<|im_end|>"},
                    {"bos_token", nullptr},
                    {"added_tokens_decoder",
                     {{"258", {{"content", "<|im_start|>"}, {"special", true}, {"normalized", false}}},
                      {"259", {{"content", "<|im_end|>"}, {"special", true}, {"normalized", false}}}}}});
    const auto qwen = directory.load();
    CHECK(qwen->size() == 260);
    // 1 and 2 alone, the quote with the word's letters, and the special tokens whole.
    CHECK(qwen->encode("<|im_start|>he 12<|im_end|>") == ids{258, 256, 220, 16, 17, 259});
    CHECK(qwen->encode("e\u0301") == qwen->encode("\u00E9"));
    CHECK(qwen->decode({258, 256, 257, 259}) == "he he");
    // As GPT-2 the digits would be one word, which here changes nothing, and no letter would be composed.
    directory.with("tokenizer_config.json", {{"tokenizer_class", "GPT2Tokenizer"}});
    CHECK(directory.encode("e\u0301") != directory.encode("\u00E9"));
}

TEST_CASE("tokens that stand beside a vocabulary are found in the text") {
    auto directory = byte_level_directory();
    directory.with("added_tokens.json", {{"<|start|>", 258}, {"<|pad|>", 259}})
        .with("special_tokens_map.json",
              {{"bos_token", "<|start|>"}, {"eos_token", {{"content", "he"}, {"lstrip", true}}}})
        .with("tokenizer_config.json", {{"tokenizer_class", "GPT2Tokenizer"}});
    const auto words = directory.load();
    CHECK(words->encode("<|start|>a he<|pad|>") == ids{258, 64, 256, 259});
    CHECK(words->decode({258, 64, 256, 259}) == "a<|pad|>");  // those that have a name are special
    // A name that nothing numbers is the next token; special tokens may be asked to be text.
    directory.with("tokenizer_config.json", {{"mask_token", "[M]"}, {"add_bos_token", true}});
    CHECK(directory.encode("[M]") == ids{258, 260});
    directory.with("tokenizer_config.json", {{"split_special_tokens", true}});
    CHECK(directory.encode("<|start|>").size() == 9);
    CHECK(directory.encode("<|pad|>") == ids{259});
    directory.with("tokenizer_config.json", {{"add_prefix_space", true}, {"add_eos_token", true}});
    CHECK(directory.encode("he") == ids{256, 256});  // found before a space is put in front
    CHECK(directory.encode("hea") == ids{256, 220, 64, 256});
}

TEST_CASE("an older list of special tokens counts where no file before gave one") {
    auto directory = byte_level_directory();
    directory.with("added_tokens.json", {{"<x>", 258}})
        .with("special_tokens_map.json", {{"additional_special_tokens", {"he"}}});
    const auto with = [&](nlohmann::json config) {
        config["tokenizer_class"] = "GPT2Tokenizer";
        directory.with("tokenizer_config.json", config);
        return directory.load()->decode({256});  // a special token is no text
    };
    CHECK(with({}).empty());
    CHECK(with({{"extra_special_tokens", nlohmann::json::object()}}).empty());
    CHECK(with({{"additional_special_tokens", {"<x>"}}}) == "he");
    CHECK(with({{"additional_special_tokens", nlohmann::json::array()}}) == "he");
    CHECK(with({{"extra_special_tokens", {"<x>"}}, {"additional_special_tokens", {"he"}}}) == "he");
    CHECK(with({{"extra_special_tokens", nlohmann::json::array()}, {"additional_special_tokens", {"he"}}}).empty());
}

TEST_CASE("a class that is not known here is refused with the command that makes a tokenizer.json") {
    auto directory = byte_level_directory();
    directory.with("tokenizer_config.json", {{"tokenizer_class", "FancyTokenizerFast"}});
    const auto line = refusal([&] { directory.load(); });
    CHECK(has(line,
              "tokenizer_config.json: tokenizer_class: what FancyTokenizerFast makes of vocab.json and merges.txt"));
    CHECK(has(line, "AutoTokenizer.from_pretrained"));
    model_directory nameless = byte_level_directory();
    nameless.with("config.json", {{"model_type", "mistral"}});
    CHECK(has(refusal([&] { nameless.load(); }),
              "no tokenizer_config.json says what vocab.json and merges.txt of a mistral mean"));
    nameless.with("config.json", {{"model_type", "qwen3"}});
    CHECK(nameless.encode("e\u0301") == nameless.encode("\u00E9"));
    auto other = llama_directory({});
    other.with("tokenizer_config.json", {{"tokenizer_class", "CodeLlamaTokenizer"}});
    CHECK(has(refusal([&] { other.load(); }), "what CodeLlamaTokenizer makes of tokenizer.model is not known here"));
    other.with("tokenizer.model", "IQ== 0\nIg== 1\n");
    CHECK(has(refusal([&] { llama_directory({}).with("tokenizer.model", "IQ== 0\nIg== 1\n").load(); }),
              "a tiktoken vocabulary"));
}

TEST_CASE("damaged files beside a vocabulary are refused by file and key") {
    const auto refused = [](const std::string& file, const json& content) {
        return refusal([&] { byte_level_directory().with(file, content).load(); });
    };
    CHECK(has(refused("tokenizer_config.json", "{"), "tokenizer_config.json: not JSON"));
    CHECK(has(refused("tokenizer_config.json", {{"tokenizer_class", 3}}), "tokenizer_class: must be a string"));
    CHECK(has(refused("tokenizer_config.json", {{"eos_token", json::object()}}), "eos_token.content: is missing"));
    CHECK(has(refused("tokenizer_config.json", {{"added_tokens_decoder", {{"x", "a"}}}}),
              "added_tokens_decoder.x: must be an id"));
    CHECK(has(refused("added_tokens.json", {{"<x>", 1 << 30}}),
              "added_tokens.json: token \"<x>\": id 1073741824 is far beyond"));
    CHECK(has(refused("added_tokens.json", {{"<x>", 258}, {"<y>", 258}}),
              "token \"<y>\": its id is another token's too"));
    CHECK(has(refused("added_tokens.json", json::array()), "added_tokens.json: must be an object"));
}

TEST_CASE("a tokenizer.model of Llama's is cut as LlamaTokenizer cuts it") {
    // Special tokens wherever they stand, and the space in front of the text's first word alone.
    CHECK(llama_directory({{"add_bos_token", true}}).encode("<s>a </s>ab") == ids{1, 1, 5, 4, 2, 8});
    CHECK(llama_directory({{"add_bos_token", true}}).encode("a  b") == ids{1, 7, 4, 4, 6});
    CHECK(llama_directory({{"legacy", true}}).encode("<s>a </s>ab") == ids{1, 7, 4, 2, 7, 6});
    CHECK(llama_directory({{"add_prefix_space", false}, {"add_eos_token", true}, {"eos_token", "</s>"}}).encode("a") ==
          ids{5, 2});
    CHECK(llama_directory({}).encode("[X]a") == ids{3, 5});
    CHECK(llama_directory({{"split_special_tokens", true}}).encode("<s>[X]").back() == 3);
    CHECK(llama_directory({{"pad_token", "<pad>"}}).encode("<pad>") == ids{9});
    CHECK(llama_directory({}).load()->decode({1, 7, 4, 6, 2}) == "a b");
    // Phi-3 has the class, and texts as the file itself says: runs of spaces are one.
    auto phi = llama_directory(
        {{"legacy", false},
         {"added_tokens_decoder", {{"9", {{"content", "<|user|>"}, {"rstrip", true}, {"special", true}}}}}});
    phi.with("config.json", {{"model_type", "phi3"}, {"vocab_size", 10}});
    CHECK(phi.encode("<|user|>  a  b") == ids{9, 5, 4, 6});
    // Without any class it is sentencepiece's own, with its special tokens found.
    model_directory bare;
    bare.with("tokenizer.model", small_model());
    CHECK(bare.encode("a  b</s>") == ids{1, 7, 4, 6, 2});
}

TEST_CASE("Llama's class is that of Llama's models, and others' files are read as they say themselves") {
    auto directory = llama_directory({{"legacy", false}});
    directory.with("config.json", {{"model_type", "llama"}, {"vocab_size", 10}});
    CHECK(directory.encode("a  b") == ids{7, 4, 4, 6});
    directory.with("config.json", {{"model_type", "mistral"}, {"vocab_size", 10}});
    CHECK(directory.encode("a  b") == ids{7, 4, 6});  // of which this one collapses blanks
}

TEST_CASE("what is stated of a token that is there already, counts") {
    const json bpe = {{"type", "BPE"}, {"vocab", byte_vocabulary()}, {"merges", json::array()}};
    const json eos = {{"id", 258}, {"content", "<eos>"}, {"special", true}, {"normalized", false}};
    model_directory directory;
    directory.with("tokenizer.json",
                   {{"added_tokens", json::array({eos})}, {"pre_tokenizer", byte_level}, {"model", bpe}});
    CHECK(directory.encode("<eos> a") == ids{258, 220, 64});
    const json stripping = {{"content", "<eos>"}, {"rstrip", true}, {"special", true}, {"normalized", false}};
    directory.with("tokenizer_config.json", {{"added_tokens_decoder", {{"258", stripping}}}});
    CHECK(directory.encode("<eos> a") == ids{258, 64});
}

TEST_CASE("GPT-2's class begins and ends texts with its own token, where it is asked to") {
    auto vocabulary = byte_vocabulary();
    vocabulary["<|endoftext|>"] = 258;
    auto directory = byte_level_directory();
    directory.with("vocab.json", vocabulary);
    const auto with = [&](const char* kind, const json& more) {
        json settings = {{"tokenizer_class", kind}, {"add_bos_token", true}, {"add_eos_token", true}};
        settings.update(more);
        return directory.with("tokenizer_config.json", settings).encode("a");
    };
    CHECK(with("GPT2Tokenizer", json::object()) == ids{258, 64, 258});
    CHECK(with("GPT2Tokenizer", {{"bos_token", nullptr}}) == ids{64, 258});
    CHECK(with("Qwen2Tokenizer", json::object()) == ids{64, 258});
}

TEST_CASE("an added token beyond the model's rows is left to the text, and named") {
    const json description = {{"added_tokens", json::array({{{"id", 258}, {"content", "<eos>"}, {"special", true}},
                                                            {{"id", 300}, {"content", "<image>"}, {"special", true}}})},
                              {"pre_tokenizer", byte_level},
                              {"decoder", byte_level},
                              {"model", {{"type", "BPE"}, {"vocab", byte_vocabulary()}, {"merges", json::array()}}}};
    for (const json& config :
         {json{{"vocab_size", 300}}, json{{"model_type", "gemma3"}, {"text_config", {{"vocab_size", 300}}}}}) {
        model_directory gemma;
        gemma.with("tokenizer.json", description)
            .with("config.json", config)
            .with("tokenizer_config.json", {{"extra_special_tokens", {{"image_token", "<image>"}}}});
        const auto words = gemma.load();
        CHECK(words->unmatched() == std::vector<std::string>{"<image>"});
        CHECK(words->size() == 259);
        const auto found = words->encode("<image><eos>");
        CHECK(found.size() == 8);
        CHECK(found.back() == 258);
        CHECK(words->decode(found) == "<image>");
    }
    // A token of the vocabulary itself beyond the rows is no such case: the model does not fit.
    model_directory small;
    small.with("tokenizer.json", description).with("config.json", {{"vocab_size", 200}});
    CHECK(small.load()->size() > 200);
}

TEST_CASE("what stands around a text is tokenizer.json's, whatever stands beside it, as in transformers 5") {
    const json bos_first = {
        {"type", "TemplateProcessing"},
        {"single", json::array({{{"SpecialToken", {{"id", "he"}}}}, {{"Sequence", {{"id", "A"}}}}})},
        {"special_tokens", {{"he", {{"ids", {256}}}}}}};
    const json bpe = {{"type", "BPE"}, {"vocab", byte_vocabulary()}, {"merges", json::array()}};
    model_directory directory;
    directory.with("tokenizer.json", {{"pre_tokenizer", byte_level}, {"post_processor", bos_first}, {"model", bpe}});
    for (const json& beside : {json::object(), json{{"eos_token", "Ġhe"}, {"add_eos_token", true}},
                               json{{"bos_token", "he"}, {"add_bos_token", false}}})
        CHECK(directory.with("tokenizer_config.json", beside).encode("a") == ids{256, 64});
}
