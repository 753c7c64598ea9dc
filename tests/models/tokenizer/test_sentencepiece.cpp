// tokenizer.model against libsentencepiece itself, on random texts, where the shared models lie beside the project.
#include <sentencepiece_processor.h>

#include <random>

#include "base/error.hpp"
#include "tests/models/tokenizer/fixtures.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::test;

namespace {

std::string random_text(std::mt19937& random) {
    static const std::vector<std::string> parts = {
        "the ",     "once", "Lily", " ",      "  ",     "   ",     "ing",
        "é",        "日本", "\n",   "😀",      "a",      "b",       "\t",
        ".",        "▁",    "1",    "250.83", "aaaa",   "diab",    "etes ",
        "is ",      "<s>",  "</s>", "<0x41>", "[INST]", "[/INST]", "[REFERENCE_DOC_3]",
        "\xC2\xA0", "X9"};
    std::string out;
    for (auto n = random() % 16; n > 0; --n) out += parts[random() % parts.size()];
    return out;
}

}  // namespace

TEST_CASE("golden: tokenizer.model gives libsentencepiece's ids and texts") {
    const std::filesystem::path data = "../shared/data";
    if (!std::filesystem::exists(data)) {
        WARN("skipped: no shared data");
        return;
    }
    std::mt19937 random(1);
    for (const std::string name : {"stories260K/tokenizer.model", "tokenizers/mistral/tokenizer.model.v1",
                                   "tokenizers/mistral/mistral_instruct_tokenizer_240323.model.v3"}) {
        const scratch_directory scratch;
        scratch.write("tokenizer.model", read_file(data / name));
        scratch.write("tokenizer_config.json", R"({"add_bos_token": false, "split_special_tokens": true})");
        const auto ours = models::tokenizer::load(scratch.path());
        sentencepiece::SentencePieceProcessor theirs;
        REQUIRE(theirs.LoadFromSerializedProto(read_file(data / name)).ok());
        CHECK(ours->size() == theirs.GetPieceSize());
        for (int i = 0; i < 3000; ++i) {
            const auto text = random_text(random);
            INFO(name << ": " << text);
            const auto expected = theirs.EncodeAsIds(text);
            REQUIRE(ours->encode(text) == expected);
            REQUIRE(ours->decode(expected) == theirs.DecodeIds(expected));
        }
    }
}

TEST_CASE("a damaged tokenizer.model is refused, never worse") {
    // Two pieces and a trainer_spec that says BPE, as protocol buffer.
    const std::string whole("\x0a\x07\x0a\x03\xE2\x96\x81\x18\x01\x0a\x05\x0a\x01\x61\x18\x01\x12\x02\x18\x02", 20);
    const scratch_directory scratch;
    const auto load = [&](const std::string& bytes) {
        scratch.write("tokenizer.model", bytes);
        return models::tokenizer::load(scratch.path());
    };
    CHECK(load(whole)->encode("a a") == ids{0, 1, 0, 1});
    for (std::size_t kept = 0; kept < whole.size(); ++kept) CHECK_THROWS_AS(load(whole.substr(0, kept)), error);
    std::mt19937 random(9);
    for (int i = 0; i < 1000; ++i) {
        auto bytes = whole;
        bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
        try {
            load(bytes)->encode("a b\xFF");
        } catch (const error& problem) {
            CHECK(problem.code() == errc::bad_input);
        }
    }
}
