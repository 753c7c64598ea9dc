#pragma once
// The supported families, behind causal_lm.
#include <memory>
#include <string>
#include <vector>

#include "models/architecture/family.hpp"
#include "models/causal_lm.hpp"
#include "models/forward_pass.hpp"
#include "models/lora/adaptation.hpp"

namespace rldp::models {

/// The model of config.model_type; the weights are those of base_tensors(config), checked by the caller.
std::shared_ptr<causal_lm> make_family(const model_config& config, base_weights weights);

/// The module of a role in one block, with its weights.
linear find_linear(const model_config& config, const base_weights& weights, std::int64_t layer,
                   const std::string& role);

class gpt2 final : public causal_lm {
  public:
    gpt2(const model_config& config, base_weights weights);

  private:
    struct norm {
        at::Tensor weight, bias;
    };
    struct block_weights {
        norm first, second;
        linear q, k, v, o, fc, proj;
    };
    at::Tensor embed(const at::Tensor& ids, const at::Tensor& positions) const override;
    at::Tensor block(std::size_t layer, const at::Tensor& x, const forward_pass& pass) const override;
    at::Tensor final_norm(const at::Tensor& x) const override;
    norm find_norm(const std::string& name) const;
    at::Tensor apply(const norm& by, const at::Tensor& x) const;

    std::vector<block_weights> blocks_;
    norm final_;
};

/// Llama and what came of it: what the rows of architecture/family.hpp tell apart.
class decoder final : public causal_lm {
  public:
    decoder(const model_config& config, base_weights weights);

  private:
    struct block_weights {
        // Norms' weights. After attention and the MLP, and of heads, only some families have one.
        at::Tensor before_attention, after_attention, before_mlp, after_mlp, q_norm, k_norm;
        linear q, k, v, o, gate, up, down;
    };
    at::Tensor embed(const at::Tensor& ids, const at::Tensor& positions) const override;
    at::Tensor block(std::size_t layer, const at::Tensor& x, const forward_pass& pass) const override;
    at::Tensor final_norm(const at::Tensor& x) const override;
    rotation rotations_at(const at::Tensor& positions, bool sliding) const override;
    at::Tensor normed(const at::Tensor& x, const at::Tensor& weight) const;
    at::Tensor heads(const at::Tensor& x, const at::Tensor& norm, const forward_pass& pass) const;
    at::Tensor add(const at::Tensor& residual, const at::Tensor& x, const linear& module, const at::Tensor& norm,
                   const forward_pass& pass) const;

    const family& family_;
    std::vector<block_weights> blocks_;
    at::Tensor frequencies_, sliding_frequencies_;  ///< of full layers, and of those that slide
};

}  // namespace rldp::models
