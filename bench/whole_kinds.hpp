#pragma once
// Steps that train tensors of the base whole: as a program without privacy makes them, and private ones.
#include <map>
#include <string>
#include <vector>

#include "bench/step_kinds.hpp"
#include "models/unit_gradients.hpp"

namespace rldp::bench {

class whole_kinds {
  public:
    /// `parameters` as train.parameters; clipped as one, or by module.
    whole_kinds(const step_shape& shape, const std::vector<std::string>& parameters, bool flat);

    /// Forward and backward pass by autograd, gradients added up in place, and AdamW.
    void ordinary();
    /// Kept factors, bounds of norms, clipped sum, noise, AdamW.
    void private_step();
    /// Milliseconds of the private step's parts, of one step.
    std::map<std::string, double> private_parts();
    std::int64_t trained() const { return layout_.dimension; }

  private:
    void begin();
    models::tensor_unit_gradients made() const;

    step_shape shape_;
    models::model_config described_;
    std::map<std::string, at::Tensor> weights_;  ///< those that are not trained; of the others, before the first step
    std::shared_ptr<const models::causal_lm> model_;
    models::lora_layout layout_;
    std::vector<std::vector<models::sequence>> units_;
    models::adamw optimizer_;
    privacy::run_key key_ = privacy::run_key::from_system();
    privacy::sanitizer sanitizer_;
    std::size_t groups_;
    std::uint64_t seq_ = 0;
};

}  // namespace rldp::bench
