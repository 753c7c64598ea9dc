#pragma once
// A model's architecture as its config.json tells it.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rldp::models {

/// config.json in the terms that all supported families share.
struct model_config {
    std::string model_type;  ///< gpt2, or of a row of family.hpp
    std::int64_t vocab = 0, width = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, inner = 0;
    std::int64_t window = 0;                     ///< longest sequence (n_positions, max_position_embeddings)
    std::optional<std::int64_t> sliding_window;  ///< keys a query sees, itself included, in layers that slide
    std::vector<bool> sliding_layers;  ///< which layers slide; empty: all of them, where there is a sliding_window
    double norm_epsilon = 1e-5;
    bool tied_head = true;
    /// config.json ties the head to the embedding, but the weights hold another one (read_model); tied_head is false.
    bool head_beside_config = false;
    std::string activation;  ///< gelu_new | gelu | silu
    struct rope_parameters {
        double theta = 10000;
        std::string type = "default";  ///< default | linear | llama3
        double factor = 1, low_freq_factor = 1, high_freq_factor = 4;
        std::int64_t original_window = 0;
    } rope;
    std::optional<rope_parameters> sliding_rope;     ///< of layers that slide, where these have their own
    std::optional<double> query_scalar;              ///< scores are divided by its root; absent: by head_dim's
    std::optional<double> attention_cap, final_cap;  ///< c: scores s and logits become c·tanh(s / c)
    std::optional<std::int64_t> bos, pad;
    std::vector<std::int64_t> eos;
    /// What lies in blocks.
    struct held_in_blocks {
        std::int64_t numbers = 0, bytes = 0;  ///< of the files' own matrices (read_model)
        std::string type = {};                ///< that most of them have, or what the base was quantized to
    } in_blocks;

    bool slides(std::int64_t layer) const;
    /// What sliding_window is for this layer.
    std::optional<std::int64_t> find_window(std::int64_t layer) const;
    double score_scale() const;  ///< of a query times a key
};

/// Reads DIR/config.json, in both layouts. Errors: bad_input naming file and key; an unsupported model_type lists those
/// supported, quantized weights are told by their method.
model_config read_model_config(const std::filesystem::path& directory);

/// Ids that end a text: eos_token_id of DIR/generation_config.json or, without it, of config.json.
std::vector<std::int64_t> read_stop_tokens(const std::filesystem::path& directory);

}  // namespace rldp::models
