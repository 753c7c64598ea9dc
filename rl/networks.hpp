#pragma once
// The nets of the controller, and its learner's tensors in a checkpoint.
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <vector>

#include "models/adamw.hpp"

namespace rldp::rl {

// Nets. Functions of flat parameter vectors, so that Adam, Polyak averaging and checkpoints each handle one tensor.

/// A diagonal Gaussian per row.
struct gaussian {
    at::Tensor mean, log_sigma;                               ///< [b, A]
    at::Tensor sample(const at::Generator& generator) const;  ///< reparameterised: μ + σ·ε
    at::Tensor log_density(const at::Tensor& actions) const;  ///< [b], summed over the action
};

class networks {
  public:
    networks(std::int64_t state, std::int64_t action, std::int64_t hidden);

    /// Flat float32 vectors: encoder and twin critics one after the other; the actor's heads.
    at::Tensor initial_critics(const at::Generator& generator) const;
    at::Tensor initial_heads(const at::Generator& generator) const;
    at::Tensor encoder_part(const at::Tensor& critics) const;
    at::Tensor twin_part(const at::Tensor& critics) const;

    /// Two Linear–LayerNorm–GELU: states [b, S] to features [b, hidden].
    at::Tensor features(const at::Tensor& encoder, const at::Tensor& states) const;
    /// Q₁ and Q₂, each a two-layer ReLU MLP: [b].
    std::array<at::Tensor, 2> values(const at::Tensor& twins, const at::Tensor& features,
                                     const at::Tensor& actions) const;
    /// log σ is clamped to [-20, 2] (not published): outside, densities leave the range of float32.
    gaussian policy(const at::Tensor& heads, const at::Tensor& features) const;

  private:
    using shapes = std::vector<std::vector<std::int64_t>>;
    std::int64_t hidden_;
    shapes encoder_, twins_, heads_;
    std::int64_t encoder_size_, twin_size_;
};

/// (1 − τ)·target + τ·online.
at::Tensor polyak(const at::Tensor& target, const at::Tensor& online, double tau);

// Stored tensors. A learner's in a checkpoint of the controller: raw bytes, read back into tensors of the sizes that
// the configuration gives.

nlohmann::json::binary_t to_bytes(const at::Tensor& tensor);
/// A tensor like `pattern`. Errors: bad_input where the bytes are not as many as its own.
at::Tensor tensor_from(const nlohmann::json& stored, const at::Tensor& pattern);

nlohmann::json stored(const models::adamw::state& state);
/// Of as many numbers as `pattern`. Errors: likewise.
models::adamw::state restored(const nlohmann::json& from, const at::Tensor& pattern);

}  // namespace rldp::rl
