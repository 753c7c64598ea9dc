// A model in a GGUF file: its configuration, and its tensors as Hugging Face has them.
#include <cmath>
#include <functional>
#include <numbers>

#include "models/architecture/family.hpp"
#include "models/gguf/gguf_model.hpp"
#include "tests/models/gguf/fixtures.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::models;
using namespace rldp::test;
using testing::gguf_writer;

namespace {

gguf_file opened(const gguf_writer& made) {
    const scratch_directory scratch;
    return gguf_file(scratch.write("m.gguf", made.bytes()));  // it stays mapped
}

model_config config_of(const gguf_writer& made) {
    return read_gguf_config(opened(made));
}

std::string refusal_of_config(const std::function<void(gguf_writer&)>& change, const std::string& kind = "llama") {
    auto made = tiny_llama(kind);
    change(made);
    return refusal([&] { config_of(made); });
}

std::vector<float> first_column(const quantized_tensor& of) {
    std::vector<float> numbers(static_cast<std::size_t>(of.rows * of.columns)), out;
    of.read_rows(0, of.rows, numbers.data());
    for (std::int64_t row = 0; row < of.rows; ++row) out.push_back(numbers[static_cast<std::size_t>(row * of.columns)]);
    return out;
}

gguf_writer tiny_gemma(const std::string& kind) {
    auto made = tiny_llama(kind);
    made.add(kind + ".attention.key_length", 4U);
    made.tensor("blk.0.post_attention_norm.weight", {8}, count_up(8, 4));
    made.tensor("blk.0.post_ffw_norm.weight", {8}, count_up(8, 5));
    if (kind == "gemma2") return made;
    made.tensor("blk.0.attn_q_norm.weight", {4}, count_up(4, 6));
    made.tensor("blk.0.attn_k_norm.weight", {4}, count_up(4, 7));
    return made;
}

/// Llama 3's rule for heads of `head_dim` numbers.
std::vector<float> divisors(double theta, double factor, int head_dim) {
    std::vector<float> out;
    for (int i = 0; i < head_dim / 2; ++i) {
        const double length = 2 * std::numbers::pi * std::pow(theta, 2.0 * i / head_dim);
        const double smooth = (8192 / length - 1) / 3;
        out.push_back(static_cast<float>(length < 2048   ? 1
                                         : length > 8192 ? factor
                                                         : 1 / ((1 - smooth) / factor + smooth)));
    }
    return out;
}

}  // namespace

TEST_CASE("a Llama's configuration is what its config.json would say") {
    const auto c = config_of(tiny_llama());
    CHECK(c.model_type == "llama");
    CHECK((c.vocab == 6 && c.width == 8 && c.layers == 1 && c.heads == 2 && c.kv_heads == 1 && c.head_dim == 4));
    CHECK((c.inner == 12 && c.window == 64 && c.norm_epsilon == 1e-5 && c.activation == "silu"));
    CHECK((c.rope.theta == 100000 && c.rope.type == "default"));
    CHECK((c.tied_head && !c.sliding_window && !c.query_scalar));
    CHECK((c.bos == 1 && !c.pad && c.eos == std::vector<std::int64_t>{2}));

    auto other = tiny_llama();
    other.tensor("output.weight", {6, 8}, count_up(48));
    other.add("tokenizer.ggml.eot_token_id", 3U);
    other.add("llama.attention.sliding_window", 16U);
    other.add("llama.rope.scaling.type", "linear");
    other.add("llama.rope.scaling.factor", 2.5F);
    const auto d = config_of(other);
    CHECK_FALSE(d.tied_head);
    CHECK(d.eos == std::vector<std::int64_t>{2, 3});
    CHECK((d.model_type == "mistral" && d.find_window(0) == 16));
    CHECK((d.rope.type == "linear" && d.rope.factor == 2.5));
}

TEST_CASE("rows of q and k stand as in Hugging Face's files, all others as they lie") {
    const auto file = opened(tiny_llama());
    const auto c = read_gguf_config(file);
    const std::string attention = "model.layers.0.self_attn.";
    // Pairs (0, 1), (2, 3) of a head of four are rotated together: its halves are 0, 2 and 1, 3.
    CHECK(first_column(read_gguf_tensor(file, c, attention + "q_proj.weight")) ==
          std::vector<float>{0, 16, 8, 24, 32, 48, 40, 56});
    CHECK(first_column(read_gguf_tensor(file, c, attention + "k_proj.weight")) == std::vector<float>{0, 16, 8, 24});
    CHECK(first_column(read_gguf_tensor(file, c, attention + "v_proj.weight")) == std::vector<float>{0, 8, 16, 24});
    const auto embedding = read_gguf_tensor(file, c, "model.embed_tokens.weight");
    CHECK(embedding.bytes.data() == file.tensor("token_embd.weight").bytes.data());
    std::size_t found = 0;
    for (const auto& [name, shape] : base_tensors(c)) {
        const auto tensor = read_gguf_tensor(file, c, name);
        CHECK(tensor.columns == shape.back());
        CHECK(tensor.rows == (shape.size() == 2 ? shape.front() : 1));
        ++found;
    }
    CHECK(found == file.tensors().size());
}

TEST_CASE("a Phi-3's window may be none") {
    auto made = tiny_llama("phi3");
    for (const char* name : {"attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"})
        made.remove_tensor(std::string("blk.0.") + name + ".weight");
    made.tensor("blk.0.attn_qkv.weight", {16, 8}, count_up(128));
    made.tensor("blk.0.ffn_up.weight", {24, 8}, count_up(192));
    CHECK_FALSE(config_of(made).sliding_window);
    made.add("phi3.attention.sliding_window", 0U);
    CHECK_FALSE(config_of(made).sliding_window);
    made.add("phi3.attention.sliding_window", 2047U);
    const auto file = opened(made);
    const auto c = read_gguf_config(file);
    CHECK(c.find_window(0) == 2047);
    CHECK(first_column(read_gguf_tensor(file, c, "model.layers.0.self_attn.qkv_proj.weight"))[8] == 64);
}

TEST_CASE("other architectures: no pairs, biases, norms of heads, norms that begin at one") {
    for (const std::string kind : {"qwen2", "qwen3"}) {
        auto made = tiny_llama(kind);
        if (kind == "qwen2")
            for (const auto& [name, size] : std::vector<std::pair<std::string, unsigned>>{{"q", 8}, {"k", 4}, {"v", 4}})
                made.tensor("blk.0.attn_" + name + ".bias", {size}, count_up(size));
        else
            for (const char* name : {"q", "k"})
                made.tensor("blk.0.attn_" + std::string(name) + "_norm.weight", {4}, count_up(4));
        const auto file = opened(made);
        const auto c = read_gguf_config(file);
        CHECK(c.model_type == kind);
        CHECK(first_column(read_gguf_tensor(file, c, "model.layers.0.self_attn.q_proj.weight")) ==
              std::vector<float>{0, 8, 16, 24, 32, 40, 48, 56});
        for (const auto& [name, shape] : base_tensors(c))
            CHECK(read_gguf_tensor(file, c, name).columns == shape.back());
    }
    for (const std::string kind : {"gemma2", "gemma3"}) {
        const auto file = opened(tiny_gemma(kind));
        const auto c = read_gguf_config(file);
        CHECK(c.query_scalar == 4);
        CHECK(c.activation == "gelu_new");
        CHECK((c.sliding_window == 4096 && c.sliding_layers == std::vector<bool>{true}));
        CHECK(c.attention_cap == (kind == "gemma2" ? std::optional(50.0) : std::nullopt));
        CHECK(c.sliding_rope.has_value() == (kind == "gemma3"));
        const std::string block = "model.layers.0.";
        const std::vector<std::pair<std::string, float>> norms = {{"model.norm", 0},
                                                                  {block + "input_layernorm", 1},
                                                                  {block + "pre_feedforward_layernorm", 2},
                                                                  {block + "post_attention_layernorm", 3},
                                                                  {block + "post_feedforward_layernorm", 4}};
        for (const auto& [name, first] : norms)
            CHECK(first_column(read_gguf_tensor(file, c, name + ".weight")) == std::vector<float>{first});
        if (kind == "gemma3")
            CHECK(first_column(read_gguf_tensor(file, c, block + "self_attn.q_norm.weight")) == std::vector<float>{5});
    }
}

TEST_CASE("Llama 3's frequencies are known again, and no others") {
    auto made = tiny_llama();
    made.add("llama.rope.freq_base", 1e8F);  // so that of two frequencies one is slow
    made.tensor("rope_freqs.weight", {2}, divisors(1e8, 32, 4));
    const auto c = config_of(made);
    CHECK((c.rope.type == "llama3" && c.rope.factor == 32 && c.rope.original_window == 8192));
    CHECK((c.rope.low_freq_factor == 1 && c.rope.high_freq_factor == 4 && c.rope.theta == 1e8));
    const auto others = [&](const std::vector<float>& numbers) {
        made.remove_tensor("rope_freqs.weight");
        made.tensor("rope_freqs.weight", {numbers.size()}, numbers);
        return refusal([&] { config_of(made); });
    };
    CHECK(others({1, 1}).empty());
    CHECK(has(others({2, 32}), "tensor 'rope_freqs.weight': number 0 is 2; Llama 3's rule gives 1"));
    CHECK(has(others({1, 1, 32}), "must have 2 numbers"));
    CHECK(has(others({0, -1}), "is not of Llama 3's kind"));
    CHECK(has(others({1, NAN}), "tensor 'rope_freqs.weight'"));
}

TEST_CASE("metadata that disagree with tensors, and what is not supported, are refused in a line that says where") {
    const std::vector<std::pair<std::function<void(gguf_writer&)>, std::string>> table = {
        {[](auto& f) { f.remove("general.architecture"); }, "key 'general.architecture' is missing"},
        {[](auto& f) { f.add("general.architecture", "mamba"); },
         "architecture 'mamba' is not read from GGUF; gpt2, llama, phi3, qwen2, qwen3, gemma2, gemma3 are"},
        {[](auto& f) { f.add("general.type", "adapter"); }, "is 'adapter'; a model is read"},
        {[](auto& f) { f.add("split.count", 3U); }, "one of 3 files of a model; join them"},
        {[](auto& f) { f.add("llama.expert_count", 8U); }, "mixtures of experts are not supported"},
        {[](auto& f) { f.remove("llama.block_count"); }, "key 'llama.block_count' is missing"},
        {[](auto& f) { f.add("llama.block_count", 2U); }, "tensor 'blk.1.attn_norm.weight' is missing"},
        {[](auto& f) { f.add("llama.block_count", 0U); }, "must be an integer from 1 to 1024"},
        {[](auto& f) { f.add("llama.embedding_length", 16U); },
         "tensor 'token_embd.weight' has shape [6, 8]; the metadata ask for [6, 16]"},
        {[](auto& f) { f.add("llama.embedding_length", 9U); }, "must be a multiple of attention.head_count"},
        {[](auto& f) { f.add("llama.attention.head_count", 4U); }, "tensor 'blk.0.attn_k.weight' has shape [4, 8]"},
        {[](auto& f) { f.add("llama.attention.head_count_kv", 3U); }, "must be a multiple of attention.head_count_kv"},
        {[](auto& f) { f.add("llama.attention.key_length", 3U); }, "must be even"},
        {[](auto& f) { f.add("llama.attention.value_length", 2U); }, "differs from attention.key_length"},
        {[](auto& f) { f.add("llama.rope.dimension_count", 2U); }, "must be 4: heads that are rotated in part"},
        {[](auto& f) { f.add("llama.feed_forward_length", 13U); }, "the metadata ask for [13, 8]"},
        {[](auto& f) { f.add("llama.vocab_size", 7U); }, "is 7, but tensor 'token_embd.weight' has 6 rows"},
        {[](auto& f) { f.add("llama.rope.scaling.type", "yarn"); }, "is 'yarn'; none and linear are supported"},
        {[](auto& f) { f.add("llama.attn_logit_softcapping", 50.0F); }, "is not supported of this architecture"},
        {[](auto& f) { f.add("tokenizer.ggml.bos_token_id", 6U); }, "is 6, but tensor 'token_embd.weight' has 6 rows"},
        {[](auto& f) { f.add("llama.attention.layer_norm_rms_epsilon", NAN); }, "must be a number from 0 to 1"},
        {[](auto& f) { f.tensor("blk.0.attn_q.bias", {8}, count_up(8)); },
         "tensor 'blk.0.attn_q.bias' is none of a llama's that is supported here"},
        {[](auto& f) { f.remove_tensor("token_embd.weight"); }, "tensor 'token_embd.weight' is missing"},
        {[](auto& f) { f.remove_tensor("blk.0.ffn_up.weight"); }, "tensor 'blk.0.ffn_up.weight' is missing"}};
    for (const auto& [change, answer] : table) {
        const auto line = refusal_of_config(change);
        INFO(answer << " / " << line);
        CHECK(has(line, answer));
        CHECK(has(line, "m.gguf: "));
    }
    CHECK(has(refusal_of_config([](auto& f) { f.tensor("rope_factors_long.weight", {2}, count_up(2)); }, "phi3"),
              "tensor 'rope_factors_long.weight' is longrope's, which is not supported"));
    CHECK(has(refusal_of_config([](auto& f) { f.remove("gpt2.attention.layer_norm_rms_epsilon"); }, "gpt2"),
              "'gpt2.attention.head_count_kv' and attention.key_length are not a gpt2's"));
    CHECK(has(refusal_of_config([](auto& f) { f.remove("gpt2.attention.head_count_kv"); }, "gpt2"),
              "'gpt2.attention.layer_norm_epsilon' is missing"));
    CHECK(has(refusal_of_config([](auto& f) { f.add("qwen3.attention.sliding_window", 8U); }, "qwen3"),
              "which a qwen3 of this kind does not have"));
}

TEST_CASE("the chat template is the metadata's") {
    auto made = tiny_llama();
    CHECK_FALSE(find_chat_template(opened(made)));
    made.add("tokenizer.chat_template", "{{ messages }}");
    CHECK(find_chat_template(opened(made)) == "{{ messages }}");
}
