#pragma once
// A tiny Llama as a GGUF file.
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/gguf_writer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace rldp::test {

inline std::vector<float> count_up(std::size_t count, float from = 0) {
    std::vector<float> out(count);
    std::iota(out.begin(), out.end(), from);
    return out;
}

/// Two heads of four numbers, one of keys, one layer, six tokens. Row r of q begins with 8·r.
inline testing::gguf_writer tiny_llama(const std::string& architecture = "llama") {
    testing::gguf_writer out;
    out.add("general.architecture", architecture);
    const auto key = [&](const std::string& name) { return architecture + "." + name; };
    out.add(key("embedding_length"), 8U);
    out.add(key("block_count"), 1U);
    out.add(key("attention.head_count"), 2U);
    out.add(key("attention.head_count_kv"), 1U);
    out.add(key("feed_forward_length"), 12U);
    out.add(key("context_length"), 64U);
    out.add(key("attention.layer_norm_rms_epsilon"), 1e-5F);
    out.add(key("rope.freq_base"), 100000.0F);
    out.add("tokenizer.ggml.bos_token_id", 1U);
    out.add("tokenizer.ggml.eos_token_id", 2U);
    out.tensor("token_embd.weight", {6, 8}, count_up(48));
    out.tensor("output_norm.weight", {8}, count_up(8, 1));
    out.tensor("blk.0.attn_norm.weight", {8}, count_up(8, 2));
    out.tensor("blk.0.ffn_norm.weight", {8}, count_up(8, 3));
    out.tensor("blk.0.attn_q.weight", {8, 8}, count_up(64));
    out.tensor("blk.0.attn_k.weight", {4, 8}, count_up(32));
    out.tensor("blk.0.attn_v.weight", {4, 8}, count_up(32));
    out.tensor("blk.0.attn_output.weight", {8, 8}, count_up(64));
    out.tensor("blk.0.ffn_gate.weight", {12, 8}, count_up(96));
    out.tensor("blk.0.ffn_up.weight", {12, 8}, count_up(96));
    out.tensor("blk.0.ffn_down.weight", {8, 12}, count_up(96));
    return out;
}

}  // namespace rldp::test
