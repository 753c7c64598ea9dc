// What lies beside a GGUF file's weights.
#include "run/model_files.hpp"

#include "base/files.hpp"
#include "tests/models/gguf/fixtures.hpp"

#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::test;

namespace {

testing::gguf_writer talking_llama() {
    auto out = tiny_llama();
    out.add("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "</s>", "a", "b", "ab"});
    out.add("tokenizer.chat_template",
            "{{ bos_token }}{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}{{ eos_token }}{% endfor %}");
    return out;
}

}  // namespace

TEST_CASE("a GGUF file's chat template is read with the tokens that its metadata name") {
    const scratch_directory scratch;
    auto made = talking_llama();
    const auto path = scratch.write("m.gguf", made.bytes());
    const auto how = actors::read_chat_template(path);
    REQUIRE(how.has_value());
    CHECK(how->render(std::vector<data::chat_message>{{"user", "Hi"}}, false) == "<s>user: Hi</s>");
    CHECK(how->bos() == "<s>");
    made.remove("tokenizer.chat_template");
    CHECK(!actors::read_chat_template(scratch.write("without.gguf", made.bytes())));
    made.add("tokenizer.chat_template", "{% if %}");
    CHECK(has(refusal([&] { actors::read_chat_template(scratch.write("bad.gguf", made.bytes())); }),
              "bad.gguf: tokenizer.chat_template"));
    made.add("tokenizer.chat_template", "{{ bos_token }}");
    made.add("tokenizer.ggml.bos_token_id", 6U);
    CHECK(has(refusal([&] { actors::read_chat_template(scratch.write("beyond.gguf", made.bytes())); }),
              "tokenizer.ggml.bos_token_id"));
}

TEST_CASE("another word of a GGUF file's metadata is another tokenizer, another number of a tensor is not") {
    const scratch_directory scratch;
    auto made = talking_llama();
    const auto path = scratch.write("m.gguf", made.bytes());
    const auto first = actors::digest_beside_weights(path);
    auto bytes = made.bytes();
    bytes.back() = static_cast<char>(bytes.back() + 1);
    CHECK(actors::digest_beside_weights(scratch.write("tensor.gguf", bytes)) == first);
    made.add("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "</s>", "a", "b", "ba"});
    CHECK(actors::digest_beside_weights(scratch.write("words.gguf", made.bytes())) != first);
    CHECK(has(actors::weight_file_facts(path), "m.gguf"));
}
