#pragma once
// The supported families, behind causal_lm.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/causal_lm.hpp"
#include "models/forward_pass.hpp"
#include "models/lora/adaptation.hpp"

namespace rldp::models {

/// The model of config.model_type; the weights are those of base_tensors(config), checked by the caller.
std::shared_ptr<const causal_lm> make_family(const model_config& config, std::map<std::string, at::Tensor> weights);

class gpt2 final : public causal_lm {
  public:
    gpt2(const model_config& config, std::map<std::string, at::Tensor> weights);

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
    norm norm_of(const std::string& name) const;
    at::Tensor apply(const norm& by, const at::Tensor& x) const;

    std::vector<block_weights> blocks_;
    norm final_;
};

/// Llama and Mistral, which differ in the attention's mask alone.
class llama final : public causal_lm {
  public:
    llama(const model_config& config, std::map<std::string, at::Tensor> weights);

  private:
    struct block_weights {
        at::Tensor first_norm, second_norm;  // gains
        linear q, k, v, o, gate, up, down;
    };
    at::Tensor embed(const at::Tensor& ids, const at::Tensor& positions) const override;
    at::Tensor block(std::size_t layer, const at::Tensor& x, const forward_pass& pass) const override;
    at::Tensor final_norm(const at::Tensor& x) const override;
    rotation rotations_at(const at::Tensor& positions) const override;

    std::vector<block_weights> blocks_;
    at::Tensor inverse_frequencies_;
};

}  // namespace rldp::models
