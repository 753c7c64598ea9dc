#pragma once
// A forward pass: what its blocks share, and the key/value cache where it is a generation's.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "models/functions.hpp"
#include "models/lora/adaptation.hpp"

namespace rldp::models {

// Attention memory. The key/value cache of a generation. Several samples may continue one prompt, whose keys and values
// are held once.

/// Row i·samples + s is sample s of prompt i. The prompts are read in one pass, right-padded; afterwards all rows grow
/// by one token at a time.
class attention_memory {
  public:
    /// Room for `most_new` tokens in each row. Errors: bad_input for an empty prompt or where the model's window is
    /// exceeded.
    attention_memory(const model_config& config, std::vector<std::int64_t> prompt_lengths, std::int64_t samples,
                     std::int64_t most_new);

    std::int64_t prompts() const { return static_cast<std::int64_t>(lengths_.size()); }
    std::int64_t rows() const { return prompts() * samples_; }
    std::int64_t samples() const { return samples_; }
    const std::vector<std::int64_t>& prompt_lengths() const { return lengths_; }
    bool has_prompts() const { return step_ >= 0; }
    /// Positions of the next tokens, [rows, 1] int64 on the CPU.
    at::Tensor next_positions() const;

    /// Keys and values of the prompts, [prompts, T, K, d], T the longest.
    void keep_prompts(std::size_t layer, const at::Tensor& k, const at::Tensor& v);
    /// Attention of each row's next token, q [rows, 1, H, d], over all of its row; k and v [rows, 1, K, d] are kept.
    /// Returns [rows, H·d].
    at::Tensor attend(std::size_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);
    /// Every layer has seen the prompts, or the next token of each row.
    void advance();

  private:
    struct layer_memory {
        at::Tensor prompt_keys, prompt_values;  ///< [prompts·K, T, d]
        at::Tensor keys, values;                ///< [rows·K, most_new, d]
    };
    at::Tensor prompt_mask(std::optional<std::int64_t> window, const at::TensorOptions& options) const;
    void grow(layer_memory& layer, const at::Tensor& k, const at::Tensor& v) const;

    std::vector<std::int64_t> lengths_;
    std::int64_t samples_, most_new_, longest_ = 0, kv_heads_;
    std::int64_t step_ = -1;                      ///< new tokens that all layers have seen
    std::vector<attention_rule> rules_;           ///< of each layer
    std::optional<std::int64_t> sliding_window_;  ///< of those that have one
    std::vector<layer_memory> layers_;
    /// Of this step, [prompts, 1, 1, T]; undefined where every prompt is seen whole.
    at::Tensor mask_, sliding_mask_;
};

// Forward pass. What the blocks of one share.

/// What layers share that see equally far.
struct layer_kind {
    attention_rule rule;
    at::Tensor mask;          ///< additive [T, T]; undefined where attention does without
    rotation positions = {};  ///< of a model with rotary positions
};

struct forward_pass {
    const model_config& config;
    std::int64_t batch, length;  ///< b and T of the ids [b, T]; hidden states are [b·T, width]
    const adaptation& adapter;
    layer_kind full, sliding;            ///< each only where the model has such layers
    attention_memory* memory = nullptr;  ///< of a generation

    const layer_kind& find_layer_kind(std::size_t layer) const {
        return config.slides(static_cast<std::int64_t>(layer)) ? sliding : full;
    }
    /// attend(), which with a memory keeps keys and values, and sees those it has.
    at::Tensor attend(std::size_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const;
};

}  // namespace rldp::models
